import { describe, expect, it } from "vitest";
import { buildConfiguration } from "./compiler-options.ts";
import { copiedAssets, publishedManifest } from "./manifest.ts";
import { inBuildOrder } from "./order.ts";

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
    expect(publishedManifest(cli)).toEqual({ ...cli, bin: { reins: "./src/main.js" } });
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
