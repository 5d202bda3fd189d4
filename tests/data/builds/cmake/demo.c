#include <stdio.h>
#include "config.h"
#include "words.h"

int main(void)
{
    printf("says %s %s %d\n", A, B, HAVE_STRDUP - HAVE_NONE);
    return 0;
}
