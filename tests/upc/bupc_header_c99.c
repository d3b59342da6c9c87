/* bupc.h and upc_nb.h in strict C99, with the extensions that they mark as such. */
#define bupc_header_works_in_c11 bupc_header_works_in_c99
#include "bupc_header.c"
