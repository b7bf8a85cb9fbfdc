import { expect, it } from "vitest";
import { withoutImports } from "./builtins.ts";

it("takes from modules of Node what is imported, and keeps every line where it is", () => {
  const code = [
    "#!/usr/bin/env node",
    'import { a, t as o } from "./chunk.mjs";',
    'import { createServer, request as ask } from "node:http";',
    'import fs, { existsSync } from "node:fs";',
    'import * as path from "node:path/posix";',
    'import events from "node:events";',
    "const text = 'import { a } from \"node:http\";';",
  ];
  expect(withoutImports(code.join("\n")).split("\n")).toEqual([
    ...code.slice(0, 2),
    'const { createServer, request: ask } = process.getBuiltinModule("node:http");',
    'const fs = process.getBuiltinModule("node:fs"); const { existsSync } = process.getBuiltinModule("node:fs");',
    'const path = process.getBuiltinModule("node:path/posix");',
    'const events = process.getBuiltinModule("node:events");',
    code.at(-1),
  ]);
});
