import { describe, expect, it } from "vitest";
import { substitute } from "./skill-file.ts";

describe("the body of a skill", () => {
  it.each([
    ["$ARGUMENTS", "a b", "a b"],
    ["<$1> <$2>", "a b", "<a> <b>"],
    ["$1", `"a b" c`, "a b"],
    ["$2", "don't stop", "stop"],
    ["$1", "--name='x y'", "--name=x y"],
    ["$3", "a b", "$3"],
    ["$0", "a", "$0"],
    ["$10", "a b c d e f g h i j", "j"],
    ["$10", "a", "$10"],
    ["$$1 $$$1", "a", "$1 $a"],
    ["$ARGUMENTS_X", "a", "$ARGUMENTS_X"],
    [`$ {X} $x \${}`, "a", `$ {X} $x \${}`],
    [`\${ARGUMENTS}`, "a b", "a b"],
  ])("%s with %s is %s", (body, given, rendered) => {
    expect(substitute(body, { arguments: given })).toBe(rendered);
  });

  it("fills in nothing that came with an argument", () => {
    expect(substitute("$ARGUMENTS $2", { arguments: `$2 \${HOME}`, values: { HOME: "secret" } })).toBe(
      `$2 \${HOME} \${HOME}`,
    );
  });

  it("sees only what it was given of the environment", () => {
    const environment = { HOME: "/h", TOKEN: "t", __proto__: "p" };
    const values = { REINS_SKILL_DIR: "/skills/a" };
    const body = `\${REINS_SKILL_DIR} \${HOME} \${TOKEN} \${toString} \${MISSING}`;
    expect(substitute(body, { values, environment, allowed: ["HOME", "toString"] })).toBe(
      `/skills/a /h \${TOKEN} \${toString} \${MISSING}`,
    );
  });

  it("cannot be made long by its arguments", () => {
    expect(() => substitute("$ARGUMENTS".repeat(1_000), { arguments: "x".repeat(10_000) })).toThrow(
      "too long",
    );
  });
});
