/* upc.h in strict C99. */
#define upc_header_compiles_as_c11 upc_header_compiles_as_c99
#include "header.c"
