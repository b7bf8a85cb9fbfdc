import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { actorOf, covers, intersect, isAdmin, isOperator, LOCAL, type Principal } from "./principal.ts";

const principal: Principal = {
  ...{ id: "tok_1", kind: "user", user: "ann", tenant: "acme", started: "api" },
  ...{ roles: ["member"], scopes: ["read"], agents: ["reed"] },
};
const names = fc.array(fc.constantFrom("a", "b", "c", "*"), { maxLength: 4 });
const holds = (list: readonly string[], name: string) => list.includes("*") || list.includes(name);

describe("lists of names", () => {
  test("intersect to what all of them hold", () => {
    fc.assert(
      fc.property(fc.array(names, { minLength: 1, maxLength: 4 }), (lists) => {
        const common = intersect(...lists);
        for (const name of ["a", "b", "c"])
          expect(holds(common, name)).toBe(lists.every((list) => holds(list, name)));
      }),
    );
  });

  test("the order of the lists does not matter", () => {
    fc.assert(
      fc.property(names, names, (one, other) => {
        expect(new Set(intersect(one, other))).toEqual(new Set(intersect(other, one)));
      }),
    );
  });

  test("only a list with * covers *", () => {
    expect(covers(["a"], ["*"])).toBe(false);
    expect(covers(["*"], ["*"])).toBe(true);
    expect(covers([], [])).toBe(true);
  });

  test("cover what they hold every name of", () => {
    fc.assert(
      fc.property(names, names, (holder, wanted) => {
        const expected = wanted.every((name) => holder.includes("*") || holder.includes(name));
        expect(covers(holder, wanted)).toBe(expected);
      }),
    );
  });

  test("are covered by what they were intersected from", () => {
    fc.assert(
      fc.property(names, names, (left, right) => {
        const common = intersect(left, right);
        if (!common.includes("*")) expect(covers(left, common) && covers(right, common)).toBe(true);
      }),
    );
  });
});

describe("a principal", () => {
  test.each([
    ["a member", {}, false],
    ["an admin", { roles: ["admin"] }, true],
    ["an agent with the role of an admin", { kind: "agent", roles: ["admin"] }, false],
    ["a service with the role of an admin", { kind: "service", roles: ["admin"] }, true],
    ["the operator", { id: LOCAL, roles: [] }, true],
  ] as const)("%s administers identity: %s", (_, own, expected) => {
    expect(isAdmin({ ...principal, ...own })).toBe(expected);
  });

  test("is the operator by its id alone", () => {
    expect(isOperator({ ...principal, user: "operator", tenant: "default" })).toBe(false);
    expect(isOperator({ ...principal, id: LOCAL })).toBe(true);
  });

  test("acts in the ledger under a name that no other tenant's user has", () => {
    expect(actorOf(principal)).toBe("user:acme/ann");
    expect(actorOf({ ...principal, tenant: "zeta" })).not.toBe(actorOf(principal));
  });
});
