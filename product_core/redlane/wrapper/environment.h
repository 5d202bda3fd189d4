/* What would run before the command, or could be judged as another. */
#pragma once

void clean_environment(void);
void drop_repeated(void);
