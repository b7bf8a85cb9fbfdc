import { expect, test } from "vitest";
import { THIRD_PARTY } from "../control/agent-profile.ts";
import { clientOffers, mayKnow } from "./known-methods.ts";

const INITIALIZED = {
  _meta: { acme: {} },
  agentCapabilities: { sessionCapabilities: { fork: {} }, _meta: {} },
};

test("a method is known by what the agent said of itself", () => {
  for (const method of ["_acme/dance", "session/fork", "session/set_model"])
    expect(mayKnow(method, THIRD_PARTY, INITIALIZED)).toBe(true);
  for (const method of ["_other/dance", "session/rewind", "providers/list"])
    expect(mayKnow(method, THIRD_PARTY, INITIALIZED)).toBe(false);
});

test.each(Object.getOwnPropertyNames(Object.prototype))(
  "what every object has makes no method: %s",
  (name) => {
    for (const method of [`_${name}/x`, `session/${name}`, `session/un${name}`, `${name}/x`])
      expect(mayKnow(method, THIRD_PARTY, INITIALIZED)).toBe(false);
    for (const method of [name, `_${name}/x`]) expect(clientOffers({ fs: {} }, method, {})).toBe(false);
    expect(clientOffers({ elicitation: {} }, "elicitation/create", { mode: name })).toBe(false);
  },
);
