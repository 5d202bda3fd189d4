/* What would run before the command. */
#pragma once

void clean_environment(void);
