import { z } from "zod";
import { ENFORCEMENTS, NETWORKS, ORIGINS, STARTS, type Subject, TRUST_LEVELS } from "../subject.ts";

const RecordedSubject = z.object({
  user: z.string(),
  tenant: z.string(),
  roles: z.array(z.string()),
  scopes: z.array(z.string()),
  agent: z.string(),
  trust: z.enum(TRUST_LEVELS),
  session: z.string(),
  root_session: z.string().exactOptional(),
  started: z.enum(STARTS),
  chain: z.array(z.string()),
  depth: z.int(),
  mode: z.string(),
  enforcement: z.enum(ENFORCEMENTS),
  network: z.enum(NETWORKS).exactOptional(),
  origin: z.enum(ORIGINS).exactOptional(),
});

type Recorded = Partial<Record<keyof Subject, unknown>>;

/** How many subjects are remembered; then it begins anew. */
const MAX_SUBJECTS = 10_000;

/** Reads recorded subjects. One that comes again is the same object each time, by which a policy knows it again. */
export class RecordedSubjects {
  readonly #known = new Map<string, Subject>();

  /** The subject in a value, if there is one. */
  read(value: unknown): Subject | undefined {
    if (typeof value !== "object" || value === null) return undefined;
    const recorded: Recorded = value;
    const name = `${recorded.session}\n${recorded.agent}\n${recorded.mode}`;
    const known = this.#known.get(name);
    if (known && isSame(known, recorded)) return known;
    const { data } = RecordedSubject.safeParse(value);
    if (!data) return undefined;
    if (this.#known.size >= MAX_SUBJECTS) this.#known.clear();
    this.#known.set(name, data);
    return data;
  }
}

/** Written out, because it is asked of every verdict. */
function isSame(known: Subject, value: Recorded): boolean {
  return (
    known.user === value.user &&
    known.tenant === value.tenant &&
    known.agent === value.agent &&
    known.trust === value.trust &&
    known.session === value.session &&
    known.root_session === value.root_session &&
    known.started === value.started &&
    known.depth === value.depth &&
    known.mode === value.mode &&
    known.enforcement === value.enforcement &&
    known.network === value.network &&
    known.origin === value.origin &&
    isSameList(known.roles, value.roles) &&
    isSameList(known.scopes, value.scopes) &&
    isSameList(known.chain, value.chain)
  );
}

function isSameList(one: readonly string[], other: unknown): boolean {
  return (
    Array.isArray(other) && one.length === other.length && one.every((item, index) => item === other[index])
  );
}
