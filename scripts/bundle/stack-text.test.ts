import { SourceMap } from "node:module";
import { describe, expect, it } from "vitest";
import { stackText } from "./stack-text.ts";

const FOLDER = "file:///reins/.cache/bundle/one/";
/** The second line of the bundle is the eighth of the source, and begins two columns further left than there. */
const map = new SourceMap({
  version: 3,
  sources: ["../../../packages/host/src/hub/hub.ts"],
  names: [],
  mappings: ";AAOE",
  file: "",
  sourceRoot: "",
  sourcesContent: [],
});
const find = (file: string) => (file === "hub.mjs" ? map : undefined);
const text = (error: object, ...frames: string[]) =>
  stackText(
    error,
    frames.map((frame) => ({ toString: () => frame })),
    FOLDER,
    find,
  );

describe("a stack of a bundle", () => {
  it("names the places in the sources", () => {
    expect(text(new TypeError("no"), `Hub.open (${FOLDER}hub.mjs:2:1)`, `async ${FOLDER}hub.mjs:2:1`)).toBe(
      "TypeError: no\n" +
        "    at Hub.open (file:///reins/packages/host/src/hub/hub.ts:8:3)\n" +
        "    at async file:///reins/packages/host/src/hub/hub.ts:8:3",
    );
  });

  it("leaves what it knows no source of as it is", () => {
    const frames = [`x (${FOLDER}other.mjs:2:1)`, `y (${FOLDER}hub.mjs:1:1)`, "z (node:internal/timers:9:9)"];
    expect(text(new Error("no"), ...frames)).toBe(["Error: no", ...frames].join("\n    at "));
    expect(text({}, ...frames)).toMatch(/^Error\n {4}at x/);
  });
});
