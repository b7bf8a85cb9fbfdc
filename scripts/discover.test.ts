import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { discover, select } from "./discover.ts";

describe("discover", () => {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "reins-discover-"));
    mkdirSync(join(folder, "packages/ahp/bench"), { recursive: true });
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const write = (name: string, text: string) => writeFileSync(join(folder, "packages/ahp/bench", name), text);

  it("finds what packages offer, in the order of their names", async () => {
    write("z.bench.ts", 'export default { name: "alpha", title: "First", run: async () => [] };');
    write("a.bench.ts", 'export default { name: "beta", title: "Second", run: async () => [] };');
    write("echo.ts", "throw new Error('not a benchmark');");
    expect((await discover(folder, "bench")).map(({ name }) => name)).toEqual(["alpha", "beta"]);
    expect(await discover(folder, "torture")).toEqual([]);
  });

  it("says what is wrong with a file that offers nothing", async () => {
    write("a.bench.ts", 'export default { name: "alpha" };');
    await expect(discover(folder, "bench")).rejects.toThrow("a.bench.ts has to export { name, title, run }");
  });
});

describe("select", () => {
  const all = ["http", "http-batch", "stdio"].map((name) => ({ name, title: "", run: async () => [] }));
  const names = (...filters: string[]) => select(all, filters).map(({ name }) => name);

  it("takes all, those that contain the filter, or the one of exactly that name", () => {
    expect(names()).toEqual(["http", "http-batch", "stdio"]);
    expect(names("htt")).toEqual(["http", "http-batch"]);
    expect(names("http")).toEqual(["http"]);
    expect(names("std", "batch", "stdio")).toEqual(["stdio", "http-batch"]);
  });

  it("names what there is when nothing fits", () => {
    expect(() => names("grpc")).toThrow('Nothing is called "grpc". There is: http, http-batch, stdio.');
  });
});
