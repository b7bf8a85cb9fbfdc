/** What a person may want, in one word. */
export type IntentName =
  | "conversation"
  | "explore"
  | "read"
  | "explain"
  | "search"
  | "create"
  | "edit"
  | "fix"
  | "delete"
  | "run"
  | "test"
  | "review"
  | "design"
  | "remember"
  | "message"
  | "board"
  | "delegate"
  | "general";

/** What speaks for an intent. */
export interface IntentRule {
  readonly intent: IntentName;
  /** Patterns, and how much each counts. Verbs at the beginning of a sentence count more. */
  readonly signs: readonly (readonly [RegExp, number])[];
}

/** In the order in which they win when two are equally strong. */
export const INTENT_RULES: readonly IntentRule[] = [
  {
    intent: "remember",
    signs: [
      [/\b(remember|memori[sz]e|keep in mind|note) (that|this|:)/, 4],
      [/\b(don'?t|do not|never) forget\b/, 3],
      [/\b(what|which|do) (\w+ )?(do )?you remember\b/, 6],
    ],
  },
  {
    intent: "delegate",
    signs: [
      [
        /\b(spawn|start|launch|use) (a |an |another |some )?([a-z][a-z0-9-]* )?(sub-?agents?|workers?|child agents?)\b/,
        5,
      ],
      [/\bdelegate\b/, 3],
    ],
  },
  {
    intent: "message",
    signs: [
      [/\b(mail|mailbox|inbox|unread)\b/, 3],
      [/\b(send|write) (a |an )?(message|mail|note) to\b/, 5],
      [/\b(message|tell|notify|ping) (agent )?@?[a-z][\w-]*\b.* (that|about|to)\b/, 1.5],
    ],
  },
  {
    intent: "board",
    signs: [
      [/\b(message |notice )?board\b/, 3],
      [/\bpost\b.*\bboard\b/, 2],
    ],
  },
  {
    intent: "delete",
    signs: [
      [/\b(delete|remove|erase|wipe|purge|destroy|get rid of|clean (out|up)|rm)\b/, 3],
      [/\b(everything|all (the )?files|the whole (folder|repo(sitory)?|project))\b/, 0.5],
    ],
  },
  {
    intent: "test",
    signs: [
      [
        /\b(run|execute|start|launch) (all |all of )?(the |my |our )?([\w-]+ )?(tests?|test suite|checks)\b/,
        5,
      ],
      [/\b(do|does|are) (the |all |my |our )*tests? (pass|green|work|ok)/, 4],
      [/\b(npm test|pytest|cargo test|go test|vitest|jest|make (test|check))\b/, 3],
      [/\b(re)?test (it|this|that|again)\b/, 2],
    ],
  },
  {
    intent: "fix",
    signs: [
      [/\b(fix|repair|debug|solve|resolve|correct)\b/, 3],
      [/\b(bug|crash(es|ed)?|broken|fail(s|ing|ed)?|error|exception|stack ?trace|regression)\b/, 1.5],
      [/\bdoes(n'?t| not) (work|compile|build|start)\b/, 2],
    ],
  },
  {
    intent: "review",
    signs: [
      [/\b(review|audit|critique|assess|inspect|double-?check)\b/, 3],
      [/\b(pull request|diff|patch|security|vulnerabilit(y|ies))\b/, 1],
    ],
  },
  {
    intent: "design",
    signs: [
      [
        /\b(design|architect(ure)?|propose|plan (out|for|how)?|decide|compare|weigh|trade-?offs?|options|approach(es)?)\b/,
        2,
      ],
      [/\b(should (we|i)|which (one|is better)|pros and cons|how (would|should) (you|we|i))\b/, 2],
    ],
  },
  {
    intent: "run",
    signs: [
      [/\b(run|execute|start|launch|build|compile|install|deploy|format|lint)\b/, 2],
      [/`[^`]+`/, 0.5],
      [/\b(command|script|shell|terminal)\b/, 1],
    ],
  },
  {
    intent: "create",
    signs: [
      [/\b(create|write|make|generate|add|implement|build|scaffold|draft|new)\b/, 2],
      [/\b(file|function|class|module|component|test|script|endpoint|page|feature)\b/, 0.7],
    ],
  },
  {
    intent: "edit",
    signs: [
      [
        /\b(edit|change|update|modify|refactor|rename|replace|rewrite|improve|convert|migrate|extend|move|clean up)\b/,
        2.2,
      ],
    ],
  },
  {
    intent: "search",
    signs: [
      [/\b(search|grep|look for|find|where (is|are|do|does)|locate|which files?)\b/, 2.5],
      [/\b(occurrences?|usages?|references?|definitions?) of\b/, 1.5],
    ],
  },
  {
    intent: "explore",
    signs: [
      [/\bwhat('s| is| are)? (in|inside|here)\b/, 3],
      [/\b(list|show|browse)( me)?( all)?( the)? (files?|folders?|director(y|ies)|contents?|tree)\b/, 3.5],
      [/\b(folder|director(y|ies)|project structure|code ?base|repo(sitory)?)\b/, 1],
      [/\b(look|poke) around\b/, 3],
    ],
  },
  {
    intent: "read",
    signs: [
      [/\b(read|open|show( me)?|display|print|cat|view)\b/, 2],
      [/\b(summari[sz]e|summary|tl;?dr|gist)\b/, 2],
      [/[\w-]+\.[a-z]{1,5}\b/, 0.5],
    ],
  },
  {
    intent: "explain",
    signs: [
      [/\b(explain|describe|understand|clarify|walk me through|teach)\b/, 2.5],
      [/\b(how|why) (does|do|is|are|did|can)\b/, 2],
      [/\bwhat (does|do|is|are)\b/, 1.2],
    ],
  },
  {
    intent: "conversation",
    signs: [
      [
        /^\s*(hi|hello|hey|good (morning|afternoon|evening)|thanks?|thank you|bye|ok(ay)?|yes|no|great|cool)\b[\s!.,]*$/,
        5,
      ],
      [/^\s*(hi|hello|hey)\b/, 1],
      [/\b(who|what) are you\b|\bwhat can you do\b|\bhelp\b/, 2.5],
    ],
  },
];
