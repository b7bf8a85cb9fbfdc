import { expect, it } from "vitest";
import { inputOf } from "../../test/recorded.ts";
import { RecordedSubjects, withMembers } from "./recorded-verdict.ts";

const subject = {
  ...inputOf({}).subject,
  roles: ["a"],
  scopes: ["x", "y"],
  chain: ["p"],
  root_session: "s0",
};

it("a subject that comes again is the same object", () => {
  const subjects = new RecordedSubjects();
  expect(subjects.read(structuredClone(subject))).toEqual(subject);
  expect(subjects.read(structuredClone(subject))).toBe(subjects.read(structuredClone(subject)));
});

it.each(Object.keys(subject))("one that differs in %s is another", (name) => {
  const subjects = new RecordedSubjects();
  const first = subjects.read(subject);
  const value = Reflect.get(subject, name);
  const others: Record<string, unknown> = {
    trust: "standing",
    started: "api",
    enforcement: "confined",
    depth: 1,
  };
  const other = others[name] ?? (Array.isArray(value) ? [...value, "more"] : "other");
  expect(subjects.read({ ...subject, [name]: other })).toEqual({ ...subject, [name]: other });
  expect(subjects.read({ ...subject, [name]: other })).not.toBe(first);
});

it.each([[null], [1], [{}], [{ ...subject, trust: "friend" }], [{ ...subject, roles: "a" }]])(
  "%j is none",
  (value) => {
    expect(new RecordedSubjects().read(value)).toBeUndefined();
  },
);

it("sets members by dotted path and leaves what was given as it is", () => {
  const given = { a: { b: 1, c: 2 }, d: [1] };
  expect(withMembers(given, { "a.b": 9, "x.y": "z", d: 3 })).toEqual({
    a: { b: 9, c: 2 },
    d: 3,
    x: { y: "z" },
  });
  expect(given).toEqual({ a: { b: 1, c: 2 }, d: [1] });
  expect(withMembers(undefined, { a: 1 })).toEqual({ a: 1 });
});
