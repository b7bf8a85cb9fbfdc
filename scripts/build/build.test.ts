import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { root } from "../root.ts";
import { buildConfiguration } from "./compiler-options.ts";
import { copiedAssets, publishedManifest } from "./manifest.ts";
import { inBuildOrder } from "./order.ts";
import { findPublished } from "./published.ts";
import { vendorPrivate } from "./vendor.ts";

const ahp = {
  name: "@reins/ahp",
  version: "0.1.0",
  description: "The protocol.",
  exports: {
    ".": "./src/index.ts",
    "./conformance": "./src/conformance/index.ts",
    "./schema/*": "./schema/*",
  },
};
const cli = {
  name: "@reins/cli",
  version: "0.1.0",
  bin: { reins: "./src/main.ts" },
  dependencies: { "@reins/ahp": "0.1.0", commander: "15.1.0" },
};

describe("publishedManifest", () => {
  it("names what was built instead of the sources, and keeps the rest", () => {
    expect(publishedManifest({ ...ahp, devDependencies: { ajv: "8.20.0" } })).toEqual({
      ...ahp,
      exports: {
        ".": { types: "./src/index.d.ts", default: "./src/index.js" },
        "./conformance": { types: "./src/conformance/index.d.ts", default: "./src/conformance/index.js" },
        "./schema/*": "./schema/*",
      },
    });
  });

  it("is completed by the files beside the sources that it exports", () => {
    expect(copiedAssets(ahp)).toEqual(["schema"]);
    expect(copiedAssets(cli)).toEqual([]);
  });
});

describe("inBuildOrder", () => {
  const pack = (name: string, ...dependencies: string[]) => ({
    folder: `packages/${name}`,
    manifest: {
      name,
      version: "1.0.0",
      dependencies: Object.fromEntries(dependencies.map((one) => [one, "1.0.0"])),
    },
  });

  it("builds what others need before them", () => {
    const order = inBuildOrder([
      pack("cli", "host", "ahp"),
      pack("host", "store"),
      pack("ahp"),
      pack("store"),
    ]);
    expect(order.map(({ manifest }) => manifest.name)).toEqual(["store", "host", "ahp", "cli"]);
  });

  it("refuses a circle", () => {
    expect(() => inBuildOrder([pack("a", "b"), pack("b", "a")])).toThrow("a > b > a");
  });
});

describe("buildConfiguration", () => {
  it("leads imports of our packages to their built declarations", () => {
    const configuration = buildConfiguration({ folder: "packages/cli", manifest: cli }, [
      { folder: "packages/ahp", manifest: ahp },
    ]);
    expect(configuration).toMatchObject({
      compilerOptions: {
        paths: {
          "@reins/ahp": ["../../packages/ahp/dist/src/index.d.ts"],
          "@reins/ahp/conformance": ["../../packages/ahp/dist/src/conformance/index.d.ts"],
        },
      },
    });
  });
});

async function folderWith(files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "reins-build-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

describe("findPublished", () => {
  it("finds the four packages of this repository, and the private ones that are copied into them", async () => {
    const { libraries, vendored, program } = await findPublished(root);
    const names = (packages: readonly { manifest: { name: string } }[]) =>
      packages.map(({ manifest }) => manifest.name).toSorted();
    expect(names(libraries)).toEqual(["@reins/ahp", "@reins/sdk", "@reins/verify"]);
    expect(names(vendored)).toEqual(["@reins/acp", "@reins/api", "@reins/kit"]);
    expect(program.manifest.name).toBe("@reins/cli");
  });
});

describe("vendorPrivate", () => {
  const library = {
    folder: "packages/sdk",
    manifest: {
      name: "@reins/sdk",
      version: "0.1.0",
      dependencies: { "@reins/kit": "0.1.0", "@reins/verify": "0.1.0", ws: "8.0.0" },
    },
  };
  const kit = {
    folder: "packages/kit",
    manifest: {
      name: "@reins/kit",
      version: "0.1.0",
      exports: { ".": "./src/index.ts", "./sse": "./src/sse.ts" },
      dependencies: { zod: "4.0.0", unused: "1.0.0" },
    },
  };

  it("copies what is imported, at any distance, and leads imports there in code and declarations", async () => {
    const folder = await folderWith({
      "packages/sdk/dist/src/deep/index.js":
        'import { a } from "@reins/kit/sse";\nexport const b = () => import("@reins/verify");\nimport "../own.js";',
      "packages/sdk/dist/src/deep/index.d.ts":
        'export { a } from "@reins/kit/sse";\nexport type B = import("../own.ts").B;',
      "packages/sdk/dist/src/own.js": "",
      "packages/sdk/dist/src/own.d.ts": "",
      "packages/kit/dist/src/sse.js": 'export { a } from "./line.js";',
      "packages/kit/dist/src/sse.d.ts": 'export { a } from "./line.ts";',
      "packages/kit/dist/src/line.js": 'import { z } from "zod";\nimport "node:fs";',
      "packages/kit/dist/src/line.d.ts": "",
      "packages/kit/dist/src/index.js": 'import "unused";',
      "packages/kit/dist/src/index.d.ts": "",
    });
    const manifest = await vendorPrivate(folder, library, [kit]);
    expect(manifest.dependencies).toEqual({ "@reins/verify": "0.1.0", ws: "8.0.0", zod: "4.0.0" });
    const read = (path: string) => readFile(join(folder, "packages/sdk/dist", path), "utf8");
    expect(await read("src/deep/index.js")).toBe(
      'import { a } from "../../vendor/packages/kit/src/sse.js";\nexport const b = () => import("@reins/verify");\nimport "../own.js";',
    );
    expect(await read("src/deep/index.d.ts")).toBe(
      'export { a } from "../../vendor/packages/kit/src/sse.js";\nexport type B = import("../own.js").B;',
    );
    expect(await read("vendor/packages/kit/src/sse.d.ts")).toBe('export { a } from "./line.js";');
    expect(await read("vendor/packages/kit/src/line.js")).toContain("zod");
    await expect(read("vendor/packages/kit/src/index.js")).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("refuses an import of what a package does not export", async () => {
    const folder = await folderWith({ "packages/sdk/dist/src/index.js": 'import "@reins/kit/secret";' });
    await expect(vendorPrivate(folder, library, [kit])).rejects.toThrow("@reins/kit has no export ./secret");
  });
});

it("continuous integration waits for as long as the budgets of the tests last", async () => {
  const budgets: Record<string, number> = JSON.parse(await readFile(join(root, "test-budgets.json"), "utf8"));
  const workflow = await readFile(join(root, ".github/workflows/ci.yml"), "utf8");
  const minutes = Number(/^ {2}test:.*?timeout-minutes: (\d+)/ms.exec(workflow)?.[1]);
  const seconds = Object.values(budgets).reduce((sum, one) => sum + one, 0);
  expect(minutes).toBeGreaterThan(seconds / 60 + 15);
});

it("the container has a sandbox, runs as a user without rights, and looks at its health", async () => {
  const last = (await readFile(join(root, "Containerfile"), "utf8")).split(/^FROM /m).at(-1) ?? "";
  expect(last).toMatch(/apt-get install [^&]*\bbubblewrap\b/);
  expect(/^USER (\S+)$/m.exec(last)?.[1]).toBe("node");
  expect(last.indexOf("\nUSER ")).toBeLessThan(last.indexOf("\nENTRYPOINT "));
  expect(last.slice(last.indexOf("\nUSER ") + 1)).not.toMatch(/^(RUN|USER root)/m);
  const check: string[] = JSON.parse(/^HEALTHCHECK [^[]*CMD (\[[^\n]*\])$/m.exec(last)?.[1] ?? "[]");
  let status = 200;
  const server = createServer((request, response) =>
    response.writeHead(request.url === "/v1/health" ? status : 404).end("{}"),
  );
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = Object(server.address());
  const [program = "", ...args] = check.map((word) => word.replace(":18789/", `:${port}/`));
  const examined = () =>
    new Promise((resolve) => execFile(program, args).on("close", (code) => resolve(code)));
  expect(await examined()).toBe(0);
  status = 503;
  expect(await examined()).toBe(1);
  server.closeAllConnections();
  server.close();
  expect(await examined()).toBe(1);
});

it("the container's user owns every folder above what Reins writes, and a volume keeps that", async () => {
  const file = (await readFile(join(root, "Containerfile"), "utf8")).replaceAll("\\\n", "");
  const [made = ""] = /^RUN install -d -o node -g node -m 700 .*$/m.exec(file) ?? [];
  const folders = new Set(made.match(/\/home\/node\/\S+/g));
  const volumes = /^VOLUME (.*)$/m.exec(file)?.[1]?.split(" ") ?? [];
  // The home and the state of a user on Linux.
  expect(volumes).toEqual(["share", "state"].map((kind) => `/home/node/.local/${kind}/reins`));
  for (const volume of volumes)
    for (let folder = volume; folder !== "/home/node"; folder = dirname(folder))
      expect([...folders]).toContain(folder);
});

it("the container has the Node that the repository pins", async () => {
  const { dependencies } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const images = (await readFile(join(root, "Containerfile"), "utf8")).matchAll(
    /^FROM \S+\/node:(\d+)-slim/gm,
  );
  const majors = new Set([...images].map(([, major]) => major));
  expect([...majors]).toEqual([dependencies.node.split(".")[0]]);
});
