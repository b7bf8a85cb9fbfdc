#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { compileCacheFolder } from "./compile-cache.ts";

// Before anything else is loaded, because only what is loaded later is cached.
enableCompileCache(compileCacheFolder(process.platform, process.env));
const { run } = await import("./run.ts");
await run(process.argv.slice(2));
