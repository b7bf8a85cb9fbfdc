import { Wordings } from "@reins/scripted-model";
import { z } from "zod";
import { isPackageName } from "./install/install-plan.ts";

/** A package version, exact. */
const Version = z.string().regex(/^\d+\.\d+\.\d+[\w.+-]*$/, "is not an exact version, such as 1.2.3");

/** The name of an npm package. */
const PackageName = z.string().refine(isPackageName, "is not the name of an npm package");

/** A path below a folder: relative, and never out of it. */
const Inside = z
  .string()
  .min(1)
  .refine((path) => !path.startsWith("/") && !/^[a-z]:/i.test(path), "must be relative")
  .refine((path) => !path.split(/[\\/]/).includes(".."), "must not lead out of its folder");

const Variables = z.record(z.string().regex(/^[A-Za-z_]\w*$/, "is no name of a variable"), z.string());

/** A file that is written into the private home. Its texts may hold `${…}`. */
const HomeFile = z
  .strictObject({
    path: Inside,
    /** The content as it is. Several of these for one path are put one after the other. */
    text: z.string().optional(),
    /** The content as JSON. Several of these for one path are merged. */
    json: z.record(z.string(), z.unknown()).optional(),
    /** A file beside the catalogue, taken as it is. */
    source: Inside.optional(),
  })
  .refine(
    ({ text, json, source }) => [text, json, source].filter((given) => given !== undefined).length === 1,
    "needs one of text, json and source",
  );
export type HomeFile = z.infer<typeof HomeFile>;

/** What is started, in the folder of an install. */
const Start = z.strictObject({
  /** `node` runs the file with the Node that runs Reins; `file` starts it as the program it is. */
  with: z.enum(["node", "file"]),
  /** Relative to the install, or absolute for a program that is there already; by platform where they differ. */
  file: z.union([z.string().min(1), z.record(z.string(), z.string().min(1))]),
  args: z.array(z.string()).default([]),
  /** Modules that Node loads before the file. */
  imports: z.array(z.string()).default([]),
});

/** Where an agent comes from. */
const Install = z.strictObject({
  /** npm packages, each at one exact version; the lockfile of the same agent fits them. */
  packages: z.record(PackageName, Version),
  /** The package that speaks ACP. */
  agentProcess: PackageName,
  /** The package that holds the agent itself, where that is another one. */
  agent: PackageName.optional(),
  /** Which package brings programs made for one platform, in words. */
  native: z.string().optional(),
  /** Packages whose install scripts have to run. All others' do not. */
  scripts: z.array(PackageName).default([]),
  /** Platforms it is made for, as `process.platform`-`process.arch`. */
  platforms: z.array(z.string()).min(1),
  /** The range of Node it needs; absent when it needs none. */
  node: z.string().optional(),
  /** What an install takes on disk, about. */
  megabytes: z.number().int().positive().optional(),
});

/** How an agent is started so that it asks for everything and heeds nothing it finds in a workspace or a home. */
const Profile = z.strictObject({
  env: Variables.default({}),
  args: z.array(z.string()).default([]),
  files: z.array(HomeFile).default([]),
  /** Files and folders of the home that are taken away before every start: what is left there would be heeded. */
  clears: z.array(Inside).default([]),
  /** Set by `session/set_mode` after every new, load, resume and fork. */
  mode: z.string().optional(),
  /** Set by `session/set_config_option` after every new, load, resume and fork. */
  configOptions: z.record(z.string(), z.union([z.string(), z.boolean()])).default({}),
  /** Laid over `_meta` of every new, load, resume and fork. */
  meta: z.record(z.string(), z.unknown()).default({}),
  /** What is otherwise where the operating system confines it, such as a sandbox of its own that cannot be nested. */
  confined: z
    .strictObject({
      env: Variables.default({}),
      /** Each takes the place of the profile's files of the same path. */
      files: z.array(HomeFile).default([]),
      mode: z.string().optional(),
    })
    .optional(),
});

/** How an agent is pointed at a model: what is added to its profile, with `${url}`, `${key}` and `${model}`. */
const Endpoint = z.strictObject({
  dialect: z.enum(["anthropic", "openai-chat", "openai-responses", "gemini"]),
  /** A name for which the agent offers its usual tools, where it needs one; used when an endpoint names none. */
  model: z.string().optional(),
  env: Variables.default({}),
  args: z.array(z.string()).default([]),
  files: z.array(HomeFile).default([]),
});

/** What has been seen of an agent that a host has to know. */
const Quirks = z.strictObject({
  /** Whether it writes through the client's `fs`: does, does not, or fails when `fs` is on offer. */
  fs: z.enum(["uses", "ignores", "breaks"]),
  /** Kinds of MCP servers it takes from `session/new`. */
  mcp: z.array(z.enum(["stdio", "http", "sse"])),
  /** Whether the sessions of one process can use each other's MCP servers. */
  mixesServers: z.boolean().optional(),
  load: z.boolean(),
  resume: z.boolean(),
  fork: z.boolean(),
  /** What a rejected permission does to the turn. */
  rejection: z.enum(["continues", "ends", "cancels", "never asked"]),
  /**
   * How a refused permission request is answered where the agent honours more than a reject option, which has no room for
   * a reason: a JSON-RPC error is a no to it as well, and its model is given the message.
   */
  refusal: z.literal("error").optional(),
  /** Processes that outlive it, in words. */
  leaves: z.string().optional(),
  notes: z.array(z.string()).default([]),
});

/** What a command of an agent does: see `prompts.commands`. */
const CommandEffect = z.union([
  z.enum(["gate", "writes", "schedules", "harmless"]),
  z.strictObject({ writes: z.array(Inside).min(1) }),
]);
export type CommandEffect = z.infer<typeof CommandEffect>;

/** What an agent understands in a prompt beside text. */
const Prompts = z.strictObject({
  /**
   * Whether it reads the files that `@path` names in a text by itself: it does not, the profile switches it off, or it
   * does. What is not known is taken for the last, and references are written so that it does not see them.
   */
  mentions: z.enum(["none", "off", "expands"]).default("expands"),
  /**
   * What each of its commands (`/name`) does: `gate` changes what it asks for, `writes` files or settings of its own (which
   * ones in the session's folder, where that is known), `schedules` work without a prompt, `harmless` only prompts or
   * looks. One that it announces and that is not named here is asked about; any other is sent as text.
   */
  commands: z.record(z.string(), CommandEffect).default({}),
});

/** A regular expression. */
const Pattern = z.string().refine((text) => {
  try {
    return new RegExp(text) !== undefined;
  } catch {
    return false;
  }
}, "is no regular expression");

/** A call that an agent reports without name and arguments, and what identifies it all the same. */
const ToldCall = z.strictObject({
  /** Which tool of its table it is. */
  tool: z.string(),
  /** Patterns by member that identify the call; dots lead into objects and lists. */
  where: z.record(z.string(), Pattern),
  /** Where its arguments are, verbatim: the first group of a pattern. One that does not fit is not known. */
  arguments: z.record(z.string(), z.strictObject({ member: z.string(), pattern: Pattern })).default({}),
});

/** How an agent reports the names of its tools with a call. */
const ToolNames = z.strictObject({
  /** Where a name may be, beside `name`; dots lead into objects. The first that is there counts. */
  members: z.array(z.string()).default([]),
  /** Members that may name the MCP tool; `first` is the first update of the call. */
  aliases: z.array(z.string()).default([]),
  /** What has to be true for such a name to count, because a model may choose it otherwise. */
  mark: z.string().optional(),
  /** The tool of its table for each ACP kind, for calls without a name. */
  kinds: z.record(z.string(), z.string()).default({}),
  /** The kinds of calls whose title at first is the name of the tool. */
  titles: z.array(z.string()).optional(),
  /** What finds the name in a title that the agent's own program begins with it: the first group. */
  titled: Pattern.optional(),
  /** Calls that more than their kind identifies. The first that fits counts. */
  calls: z.array(ToldCall).optional(),
  /** Calls whose work the agent does not ask about, such as sub-agents; patterns by member identify them. */
  ungoverned: z.array(z.record(z.string(), Pattern)).optional(),
});

/** One agent: everything that is particular to it, as data. */
export const AgentEntry = z
  .strictObject({
    id: z.string().regex(/^[a-z][a-z0-9-]*$/, "must be small letters, digits and dashes"),
    name: z.string().min(1),
    support: z.strictObject({
      level: z.enum(["supported", "limited", "unsupported"]),
      /** Why it is not more than that. */
      reason: z.string().optional(),
    }),
    /** Its name in the ACP registry. */
    registry: z.string().optional(),
    /** Whether it is a part of Reins, and runs in its process. */
    builtIn: z.boolean().default(false),
    /** Whether it came from the registry and is described by its install alone. */
    fromRegistry: z.boolean().default(false),
    install: Install.optional(),
    start: Start.optional(),
    /** Arguments in place of the usual ones that make it say its version and end. */
    verify: z.array(z.string()).default(["--version"]),
    profile: Profile.prefault({}),
    /** How it finds the operator's skills; without it, they come with its prompts. */
    skills: z
      .strictObject({
        /** A folder of the private home: each skill is in `skills/<name>` below it. */
        folder: Inside,
        /** How it loads one, for its model; `${skill}` is the name. */
        hint: z.string(),
        /** What else the folder needs. */
        files: z.array(HomeFile).default([]),
        /** Merged over `_meta` of session calls, where there are skills. */
        meta: z.record(z.string(), z.unknown()).default({}),
      })
      .optional(),
    /** Keys of `_meta` that a client may not send; dots lead into objects. */
    strip: z.array(z.string()).default([]),
    /** Modes in which it asks no less than in the profile's. A client may choose among these. */
    modes: z.array(z.string()).default([]),
    /** Which tool table of the policy describes its tools. */
    tools: z.string().optional(),
    /** What it understands in a prompt beside text. */
    prompts: Prompts.prefault({}),
    /** How it reports which of them it calls. */
    toolNames: ToolNames.prefault({}),
    credentials: z
      .strictObject({
        /** Files of the user's home, and where they go in the private one. */
        files: z.array(z.strictObject({ from: Inside, to: Inside })).default([]),
        /** Variables that are handed on when the operator has them. */
        variables: z.array(z.string()).default([]),
      })
      .prefault({}),
    endpoint: Endpoint.optional(),
    /** How its tools carry out what the scripted model means to do. */
    wordings: Wordings.default({}),
    quirks: Quirks.optional(),
    /** What can be relied on without a sandbox, and what it does without asking. */
    enforcement: z.strictObject({
      level: z.enum(["asked", "observed"]),
      unasked: z.array(z.string()).default([]),
    }),
    /** Whether the profile holds in a hostile workspace, and what was found. */
    hostile: z.strictObject({ held: z.boolean(), reason: z.string() }).optional(),
  })
  .refine(
    ({ support, start, builtIn }) => support.level === "unsupported" || builtIn || start !== undefined,
    "needs `start`, which says what to run",
  )
  .refine(
    ({ support }) => support.level === "supported" || support.reason !== undefined,
    "needs a reason for not being supported",
  );
export type AgentEntry = z.infer<typeof AgentEntry>;
