/* A connection to a Unix socket, -1 and errno without one. */
#pragma once

int link_to(const char *path, double timeout);
