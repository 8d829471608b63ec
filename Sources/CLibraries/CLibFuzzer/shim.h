#include <stddef.h>
#include <stdint.h>

// libFuzzer's driver as a library, which brings no main of its own: https://llvm.org/docs/LibFuzzer.html
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*take)(const uint8_t *bytes, size_t count));
