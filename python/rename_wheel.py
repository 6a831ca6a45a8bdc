"""rename_wheel.py WHEEL NAME FOLDER: the same wheel as another distribution, without what it depends on."""
import base64
import hashlib
import os
import sys
import zipfile


def rename(wheel, name, folder):
    old, rest = os.path.basename(wheel).split("-", 1)
    new = name.replace("-", "_")
    target = os.path.join(folder, f"{new}-{rest}")
    version = rest.split("-")[0]
    records = []
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made:
        for entry in source.infolist():
            data = source.read(entry)
            path = entry.filename.replace(f"{old}-{version}.dist-info/", f"{new}-{version}.dist-info/")
            if path.endswith("dist-info/RECORD"):
                continue
            if path.endswith("dist-info/METADATA"):
                lines = [line for line in data.decode().split("\n") if not line.startswith("Requires-Dist:")]
                data = "\n".join(f"Name: {name}" if line == f"Name: {old}" else line for line in lines).encode()
            entry.filename = path
            made.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            records.append(f"{path},sha256={digest},{len(data)}")
        record = f"{new}-{version}.dist-info/RECORD"
        made.writestr(record, "\n".join([*records, f"{record},,", ""]))
    return target


if __name__ == "__main__":
    print(rename(*sys.argv[1:]))
