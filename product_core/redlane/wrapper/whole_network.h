/* Every address is one of this network's own. */
#pragma once

/* Of the network that this process is in, as far as that can be: what is sent to others is
 * lost there otherwise. */
void whole_network_keep(void);
