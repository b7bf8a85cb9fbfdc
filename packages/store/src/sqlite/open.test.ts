import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../test/temporary-folder.ts";
import { partsOf } from "./open.ts";

describe("the parts of a store", () => {
  const addresses = (module: string | URL) => partsOf([{ name: "t", module }]).map((part) => part.module);

  it("begin with the store's own", () => {
    expect(partsOf([]).map(({ name }) => name)).toEqual(["leases"]);
  });

  it("are found as source or as built, whichever is there", async () => {
    const folder = await temporaryFolder();
    const source = pathToFileURL(join(folder, "thing.tables.ts"));
    expect(addresses(source)[1]).toBe(`${source}`.replace(/ts$/, "js"));
    await writeFile(source, "");
    expect(addresses(source)[1]).toBe(`${source}`);
    expect(addresses(`${source}?version=1`)[1]).toBe(`${source}?version=1`);
  });

  it("have names of their own", () => {
    expect(() => partsOf([{ name: "leases", module: "file:///leases.js" }])).toThrow(
      'two tables called "leases"',
    );
  });
});
