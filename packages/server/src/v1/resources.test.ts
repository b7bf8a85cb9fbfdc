import type { Approval, Grant, RosterAgent } from "@reins/api";
import type { Harness } from "@reins/supervisor";
import { expectTypeOf, test } from "vitest";

/** The members that a type names; a loose schema allows others. */
type Named<Type> = keyof { [Name in keyof Type as string extends Name ? never : Name]: Type[Name] };
type Item<List> = List extends readonly (infer Element)[] ? Element : never;

type StoredApproval = NonNullable<Awaited<ReturnType<Harness["approvals"]["get"]>>>;
type StoredGrant = Item<Awaited<ReturnType<Harness["approvals"]["grants"]["list"]>>>;

// The compiler decides these: a member that one side gains and the other lacks is an error of `npm run check`.
test("the schemas of the API name every member that approvals and grants have, and no other", () => {
  // `prefixes` are worked out for the caller.
  expectTypeOf<Exclude<Named<Approval>, "prefixes">>().toEqualTypeOf<Named<StoredApproval>>();
  expectTypeOf<Named<Item<Approval["answers"]>>>().toEqualTypeOf<Named<Item<StoredApproval["answers"]>>>();
  expectTypeOf<Named<Grant>>().toEqualTypeOf<Named<StoredGrant>>();
});

test("what people are shown of an agent on the roster is named like what rules know of it", () => {
  expectTypeOf<RosterAgent["trust"]>().toEqualTypeOf<ReturnType<Harness["policies"]["roster"]["trustOf"]>>();
});
