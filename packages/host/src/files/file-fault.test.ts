import { CODE } from "@reins/acp";
import { readTar } from "@reins/kit";
import { expect, test } from "vitest";
import { REFUSED } from "../control/outcome.ts";
import { FileFault, type FileFaultCode, onPath, pathFault, rpcFault } from "./file-fault.ts";

const systemError = (code: string) => Object.assign(new Error(`${code}: of the system`), { code });

test.each([
  ["ENOENT", "not_found", "is not there"],
  ["ELOOP", "conflict", "was replaced by a link"],
  ["ENOTDIR", "conflict", "no folder"],
  ["EEXIST", "conflict", "is there already"],
  ["ENOTEMPTY", "conflict", "not empty"],
  ["EXDEV", "conflict", "another file system"],
  ["ENAMETOOLONG", "invalid", "too long"],
  ["EACCES", "forbidden", "the user that Reins runs as"],
  ["EROFS", "forbidden", "read-only"],
  ["EFBIG", "too_large", "larger than"],
  ["ENOSPC", "unavailable", "no room left on its disk"],
  ["EDQUOT", "unavailable", "no room left in its quota"],
  ["EMFILE", "unavailable", "too many files are open"],
])("%s is the fault %s, with the path and what it means", (code, fault, words) => {
  const cause = systemError(code);
  const found = pathFault("/w/file", cause);
  expect(found).toMatchObject({ name: "FileFault", code: fault, cause });
  expect(String(found)).toMatch(new RegExp(`^FileFault: /w/file .*${words}`));
  expect(String(found)).not.toContain("of the system");
});

test("an error that means nothing to a caller stays as it is", async () => {
  for (const error of [systemError("EIO"), systemError("constructor"), new Error("x"), "text", undefined])
    expect(pathFault("/w", error)).toBe(error);
  const fault = new FileFault("conflict", "taken");
  expect(pathFault("/w", fault)).toBe(fault);
  await expect(onPath("/w", () => Promise.reject(fault))).rejects.toBe(fault);
  expect(await onPath("/w", async () => 1)).toBe(1);
});

test("an archive that is no archive is invalid", async () => {
  async function* noise() {
    yield Buffer.alloc(700, 1);
  }
  const reading = async () => {
    for await (const _ of readTar(noise(), 1_000));
  };
  await expect(onPath("/w", reading)).rejects.toMatchObject({ name: "FileFault", code: "invalid" });
});

test.each<[FileFaultCode, number]>([
  ["invalid", CODE.invalidParams],
  ["forbidden", REFUSED],
  ["not_found", CODE.notFound],
  ["conflict", CODE.invalidParams],
  ["too_large", CODE.invalidParams],
  ["unavailable", CODE.internal],
  ["not_implemented", CODE.methodNotFound],
])("over ACP the fault %s has the code %i and its own words", (code, expected) => {
  const { code: given, message } = rpcFault(new FileFault(code, "why and what to do"));
  expect([given, message]).toEqual([expected, "why and what to do"]);
});

test("over ACP an error of ours does not show its words", () => {
  expect(rpcFault(new Error("the password is x"))).toMatchObject({ code: CODE.internal });
});
