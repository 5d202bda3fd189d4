#include <stdio.h>

enum {
#include "words.h"
    COUNT
};

int main(void)
{
    printf("says %d words, %d\n", COUNT, HAVE);
    return 0;
}
