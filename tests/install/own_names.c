/* Names that the library has inside, too: they are not to be seen in libllrt.a. */
int plan_make(void);
int llrt_params_read(void);

int plan_make(void) { return 1; }
int llrt_params_read(void) { return 2; }
