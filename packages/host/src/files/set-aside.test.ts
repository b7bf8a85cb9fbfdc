import { mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { HeldFolder } from "./held-folder.ts";
import { SetAside } from "./set-aside.ts";

let top = "";
let errors: unknown[] = [];
beforeEach(async () => {
  top = await realpath(await mkdtemp(join(tmpdir(), "reins-aside-")));
  errors = [];
  await make("left/new", "new");
  await make("right/place", "old");
});
afterEach(() => rm(top, { recursive: true, force: true }));

const at = (...names: readonly string[]) => join(top, ...names);

async function make(folder: string, content: string): Promise<void> {
  await mkdir(at(folder), { recursive: true });
  await writeFile(at(folder, "content"), content);
}

/** What a folder of the test holds; undefined where it is not there. */
const contentOf = (folder: string) => readFile(at(folder, "content"), "utf8").catch(() => undefined);

const setAside = () => new SetAside(at("home"), (error) => errors.push(error));

/** Puts `left/new` into the place of `right/place`, or what is named. */
async function replace(from = "left", entry = "new", to = "right", name = "place"): Promise<void> {
  await using held = new AsyncDisposableStack();
  const [left, right] = [await HeldFolder.open(at(from)), await HeldFolder.open(at(to))];
  held.defer(() => left.close());
  held.defer(() => right.close());
  await setAside().replace(right, name, left, entry);
}

/** A replacement that a crash cut off before it began to move anything. */
async function cutOff(): Promise<string> {
  const { ino } = await stat(at("left/new"));
  await mkdir(at("right/.aside"));
  await mkdir(at("home/replaced"), { recursive: true });
  const record = { folder: at("right"), name: "place", aside: ".aside", by: String(ino) };
  await writeFile(at("home/replaced/one.json"), JSON.stringify(record));
  return at("right/.aside");
}

describe("a replacement", () => {
  test("leaves the new entry and nothing beside it", async () => {
    await replace();
    expect(await contentOf("right/place")).toBe("new");
    expect(await readdir(at("right"))).toEqual(["place"]);
    expect(await readdir(at("left"))).toEqual([]);
    expect(await readdir(at("home/replaced"))).toEqual([]);
  });

  test("that fails leaves what was there", async () => {
    await make("right/place/below/place", "below");
    // A folder cannot be moved into itself.
    await expect(replace("right", "place", "right/place/below")).rejects.toThrow("EINVAL");
    expect(await contentOf("right/place")).toBe("old");
    expect(await contentOf("right/place/below/place")).toBe("below");
    expect(await readdir(at("right/place/below"))).toEqual(["place"]);
    expect(await readdir(at("home/replaced"))).toEqual([]);
    await expect(replace("left", "none")).rejects.toMatchObject({ code: "not_found" });
    expect(await contentOf("right/place")).toBe("old");
  });

  test("that a crash cut off before anything was moved changes nothing", async () => {
    await cutOff();
    await setAside().recover();
    expect(await readdir(at("right"))).toEqual(["place"]);
    expect([await contentOf("right/place"), await contentOf("left/new")]).toEqual(["old", "new"]);
    expect(await readdir(at("home/replaced"))).toEqual([]);
  });

  test("that a crash cut off between its two moves is taken back", async () => {
    await rename(at("right/place"), join(await cutOff(), "place"));
    await setAside().recover();
    expect(await readdir(at("right"))).toEqual(["place"]);
    expect([await contentOf("right/place"), await contentOf("left/new")]).toEqual(["old", "new"]);
    expect(await readdir(at("home/replaced"))).toEqual([]);
  });

  test("that a crash cut off after its moves is finished", async () => {
    await rename(at("right/place"), join(await cutOff(), "place"));
    await rename(at("left/new"), at("right/place"));
    await setAside().recover();
    expect(await readdir(at("right"))).toEqual(["place"]);
    expect(await contentOf("right/place")).toBe("new");
    expect(await readdir(at("home/replaced"))).toEqual([]);
  });

  test("that a crash cut off keeps both where another entry has taken the place since", async () => {
    await rename(at("right/place"), join(await cutOff(), "place"));
    await make("right/place", "other");
    await setAside().recover();
    expect([await contentOf("right/place"), await contentOf("right/.aside/place")]).toEqual(["other", "old"]);
    expect(String(errors)).toContain(`what was there before is in ${at("right/.aside")}`);
    // Once that is out of the way, the next start takes it back.
    await rm(at("right/place"), { recursive: true });
    await setAside().recover();
    expect(await contentOf("right/place")).toBe("old");
    expect(await readdir(at("right"))).toEqual(["place"]);
  });

  test("in a folder that is gone is forgotten", async () => {
    await cutOff();
    await rm(at("right"), { recursive: true });
    await writeFile(at("home/replaced/cut.json"), "{");
    await setAside().recover();
    expect(errors).toEqual([]);
    expect(await readdir(at("home/replaced"))).toEqual([]);
  });
});
