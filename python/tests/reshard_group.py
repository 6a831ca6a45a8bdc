"""Processes for tests of llrt.reshard: a group over queues, and a way to run a function in each."""
import multiprocessing
import os
import traceback

os.environ.setdefault("LLRT_CACHE_DIR", "")


class QueueGroup:
    """rank, ranks, gather: what llrt.reshard wants of a group."""

    def __init__(self, rank, queues):
        self.rank, self.ranks, self.queues, self.turn, self.early = rank, len(queues), queues, 0, {}

    def gather(self, thing):
        self.turn += 1
        things = [None] * self.ranks
        for queue in self.queues:
            queue.put((self.turn, self.rank, thing))
        missing = self.ranks
        for rank, other in self.early.pop(self.turn, []):
            things[rank] = other
            missing -= 1
        while missing:
            turn, rank, other = self.queues[self.rank].get(timeout=120)
            if turn == self.turn:
                things[rank] = other
                missing -= 1
            else:
                self.early.setdefault(turn, []).append((rank, other))
        return things


def _main(work, rank, queues, answers, more):
    try:
        answers.put((rank, True, work(QueueGroup(rank, queues), *more)))
    except Exception:
        answers.put((rank, False, traceback.format_exc()))


def run(work, ranks, *more):
    """[work(group, *more) of each rank]; fails with the first process's traceback."""
    context = multiprocessing.get_context("spawn")
    queues, answers = [context.Queue() for _ in range(ranks)], context.Queue()
    processes = [context.Process(target=_main, args=(work, rank, queues, answers, more)) for rank in range(ranks)]
    for process in processes:
        process.start()
    results = [None] * ranks
    for _ in range(ranks):
        rank, right, answer = answers.get(timeout=240)
        assert right, f"rank {rank}:\n{answer}"
        results[rank] = answer
    for process in processes:
        process.join(timeout=60)
    return results
