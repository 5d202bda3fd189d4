/* Devices, by their numbers. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Nothing, noise, and terminals. */
bool device_keeps_nothing(dev_t device);
/* Those by which packets leave the machine: tun, vhost-net, vhost-vsock, ppp. */
bool device_leads_out(dev_t device);
/* Whether a thread is where other devices may be open to it than to this process. */
bool devices_differ(pid_t thread);
