import type { PathTest, PlainCondition } from "../constitution/condition.ts";

/** Why no action can meet a condition, as far as its own words show. */
export function neverMatches(condition: PlainCondition): string | undefined {
  const { not, any_of, effects, harmless, opaque } = condition;
  if (not && isSubset(not, condition)) return "it asks for what its not excludes";
  if (harmless === true && opaque === true) return "what is opaque is never harmless";
  const every = effects?.every;
  const missing = every && neededKinds(condition).find((kind) => !every.includes(kind));
  if (missing) return `effects.every leaves out ${missing}, and another member needs one`;
  for (const name of ["paths", "reads", "writes"] as const)
    for (const quantifier of ["every", "any"] as const) {
      const test = condition[name]?.[quantifier];
      if (test && excludesItself(test)) return `${name}.${quantifier} excepts all that it matches`;
    }
  return any_of?.every((option) => neverMatches(option) !== undefined)
    ? "none of any_of can match"
    : undefined;
}

type Kind = "read" | "write" | "exec" | "net";

/** The kinds of which a condition needs at least one effect. */
function neededKinds({ effects, reads, writes, commands, hosts }: PlainCondition): Kind[] {
  const [only, ...others] = effects?.any ?? [];
  return [
    ...(only !== undefined && others.length === 0 ? [only] : []),
    ...(reads?.any ? (["read"] as const) : []),
    ...(writes?.any ? (["write"] as const) : []),
    ...(commands?.any !== undefined ? (["exec"] as const) : []),
    ...(hosts?.any !== undefined ? (["net"] as const) : []),
  ];
}

function excludesItself({ match, except }: PathTest): boolean {
  if (match === undefined || except === undefined) return false;
  const excepted = new Set([except].flat());
  return [match].flat().every((glob) => excepted.has(glob));
}

/** Whether everything that a condition says is said in the same words by another. */
function isSubset(part: PlainCondition, whole: PlainCondition): boolean {
  return Object.entries(part).every(
    ([name, asked]) =>
      asked === undefined || JSON.stringify(asked) === JSON.stringify(Reflect.get(whole, name)),
  );
}
