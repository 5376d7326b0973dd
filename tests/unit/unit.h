/* unit.h - what every unit test includes: cmocka and the headers that it wants before it. */
#ifndef PITOT_TESTS_UNIT_H
#define PITOT_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#endif
