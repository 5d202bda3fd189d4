#include <stdio.h>

int main(void)
{
    puts("says A");
    return 0;
}
