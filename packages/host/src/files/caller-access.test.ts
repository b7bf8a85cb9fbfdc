import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { QuotaError, Quotas } from "@reins/supervisor";
import { describe, expect, test } from "vitest";
import { ANN, testAccess } from "../../test/caller.ts";
import { BLOCKED } from "../../test/governed-session.ts";

describe("the path of a request", () => {
  test("is decided about as where it leads, and as itself where the entry itself is removed or moved", async () => {
    const { folder, access, caller } = await testAccess();
    await mkdir(join(folder, "real"));
    await symlink(join(folder, "real"), join(folder, "link"));
    const read = await access.resolve(caller(), "fs/read_file", { path: "link/notes" }, { more: 1 });
    expect(read.arguments).toEqual({ path: join(folder, "real/notes"), more: 1 });
    expect(read.targets).toMatchObject([{ path: join(folder, "link/notes") }]);
    const removed = await access.resolve(caller(), "fs/delete_entry", { path: "link" });
    expect(removed.arguments).toEqual({ path: join(folder, "link") });
  });

  test.each([
    ["empty", ""],
    ["with a NUL", "a\0b"],
    ["upwards", "../up"],
    ["upwards from further in", "in/../../up"],
    ["too long", "x".repeat(4_097)],
  ])("is refused before a verdict where it is %s", async (_, path) => {
    const { access, caller, decided } = await testAccess();
    await expect(access.resolve(caller(), "fs/stat", { path })).rejects.toMatchObject({ code: "invalid" });
    expect(decided).toEqual([]);
  });

  test("is out of reach where one of them is, with the reason in the verdict's place", async () => {
    const { folder, access, caller } = await testAccess({ verdicts: [BLOCKED] });
    await symlink("/etc", join(folder, "link"));
    const moved = await access.resolve(caller(), "fs/move", { from: "notes", to: "link/passwd" });
    expect(moved.outOfReach).toBe("it is elsewhere");
    await expect(access.begin(moved)).rejects.toMatchObject({
      code: "forbidden",
      message: expect.stringContaining("it is elsewhere"),
    });
  });

  test("belongs to people and services, in the folders of a session that is there", async () => {
    const { folder, access, caller } = await testAccess({}, undefined, { known: "work" });
    await mkdir(join(folder, "work"));
    const agent = { ...ANN, kind: "agent" } as const;
    await expect(access.placeOf(caller(agent))).rejects.toMatchObject({ code: "forbidden" });
    await expect(access.placeOf(caller(ANN, { session: "none" }))).rejects.toMatchObject({
      code: "not_found",
    });
    const work = join(folder, "work");
    expect(await access.placeOf(caller(ANN, { session: "known" }))).toEqual({
      ...{ cwd: work, roots: [work], within: [work] },
    });
  });
});

describe("an access", () => {
  test("is done after its verdict, and recorded once with what it wrote", async () => {
    const { access, caller, decided, records } = await testAccess();
    const found = await access.resolve(caller(), "fs/write_file", { path: "notes" });
    const seen = await access.perform(found, async () => decided.length);
    expect(seen).toBe(1);
    expect(decided).toMatchObject([{ event_type: "pre_action", payload: { tool_name: "fs/write_file" } }]);
    expect(records).toMatchObject([{ quality: "tool_result", tags: ["completed"] }]);
  });

  test("that is refused is not done, and leaves no result", async () => {
    const { access, caller, records } = await testAccess({ verdicts: [BLOCKED] });
    let isDone = false;
    const refused = access.perform(await access.resolve(caller(), "fs/mkdir", { path: "new" }), async () => {
      isDone = true;
    });
    await expect(refused).rejects.toMatchObject({
      code: "forbidden",
      message: expect.stringMatching("it may not"),
    });
    expect([isDone, records]).toEqual([false, []]);
  });

  test("that fails is recorded as failed, with what it wrote before, and its fault names the path", async () => {
    const { folder, access, caller, records } = await testAccess();
    const found = await access.resolve(caller(), "fs/read_file", { path: "none" });
    const failed = access.perform(found, async (note) => {
      note({ path: join(folder, "half"), bytes: 1, content_hash: "h" });
      await rm(join(folder, "none"));
    });
    await expect(failed).rejects.toMatchObject({
      code: "not_found",
      message: expect.stringContaining("none"),
    });
    expect(records).toMatchObject([{ tags: ["failed"] }]);
    expect(JSON.stringify(records)).toContain("half");
  });

  test("of a caller who left before the verdict is not done", async () => {
    const { access, caller, records } = await testAccess();
    const left = new AbortController();
    const found = await access.resolve(caller(ANN, { signal: left.signal }), "fs/mkdir", { path: "new" });
    left.abort(new Error("it left"));
    await expect(access.perform(found, async () => "done")).rejects.toThrow("it left");
    expect(records.filter(({ tags }) => tags?.includes("completed"))).toEqual([]);
  });

  test("counts against the requests under way until it ends; a part of it does not", async () => {
    const quotas = new Quotas({ principal: { file_requests: 1 } });
    const { folder, access, caller } = await testAccess({}, quotas);
    await writeFile(join(folder, "notes"), "x");
    const found = await access.resolve(caller(), "fs/read_file", { path: "notes" });
    const end = await access.begin(found);
    await expect(access.begin(found)).rejects.toThrow(QuotaError);
    await (await access.begin(found, { isPart: true }))("completed");
    await end("completed");
    await end("completed");
    await (await access.begin(found))("completed");
  });
});
