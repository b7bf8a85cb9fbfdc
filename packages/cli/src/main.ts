#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { compileCacheFolder } from "./installation.ts";

// First, because only what is loaded later is cached. The variable is for the threads of the database, which do not
// inherit the setting.
process.env.NODE_COMPILE_CACHE ??= compileCacheFolder(process.platform, process.env);
enableCompileCache(process.env.NODE_COMPILE_CACHE);
const { run } = await import("./program.ts");
await run(process.argv.slice(2));
