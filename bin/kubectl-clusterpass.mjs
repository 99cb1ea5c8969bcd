#!/usr/bin/env node
/** kubectl finds its plugins by this name: `kubectl clusterpass get clusters`. */
import './clusterpass.mjs';
