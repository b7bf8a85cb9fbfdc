#!/usr/bin/env node
// `reins` from a clone, on whatever Node the machine has (18 or newer): for editors and other programs that start it.
process.argv.splice(2, 0, "reins");
await import("./bootstrap.mjs");
