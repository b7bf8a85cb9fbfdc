import { BASE64_URL, characters } from "../notation.ts";
import { type PatternRow, runOf } from "./pattern-format.ts";

/** What base64 has before a beginning that may as well be a part of it. */
const NOT_IN_BASE64 = { notAfter: characters("A-Za-z0-9+/") };
const AFTER_DIGIT = { onlyAfter: characters("0-9") };

/** Words of small letters and dashes are names, of packages or classes; what is drawn at random is neither. */
const DRAWN = { accepts: (secret: string) => /[\dA-Z]/.test(secret) };

/** Tokens and keys that one knows by how they begin. */
export const TOKENS: readonly PatternRow[] = [
  ...rows("reins", ["reins_"], "[A-Za-z0-9_-]{20,}", DRAWN),

  ...rows("github", ["gh[pousr]_", "github_pat_"], "[A-Za-z0-9_]{20,}"),
  ...rows("gitlab", ["glpat-", "gldt-", "glrt-", "glptt-", "glft-", "glcbt-"], "[A-Za-z0-9_-]{20,}", {
    inner: ".",
  }),
  ...rows(
    "gitlab",
    ["glimt-", "glsoat-", "glagent-", "gloas-", "glffct-", "GR1348941"],
    "[A-Za-z0-9_-]{20,}",
  ),
  ...rows("bitbucket", ["ATBB"], "[A-Za-z0-9]{24,}", NOT_IN_BASE64),
  ...rows("atlassian", ["ATATT3"], "[A-Za-z0-9_=-]{40,}", NOT_IN_BASE64),
  ...rows("linear", ["lin_api_", "lin_oauth_"], "[A-Za-z0-9]{20,}"),
  ...rows("notion", ["ntn_"], "[A-Za-z0-9]{30,}"),
  ...rows("figma", ["figd_"], "[A-Za-z0-9_-]{30,}"),
  ...rows("postman", ["PMAK-"], "[a-f0-9]{24}-[a-f0-9]{20,}"),

  ...rows("slack", ["xox[abcdeoprs]-"], "[A-Za-z0-9%+/=-]{10,}", DRAWN),
  ...rows("slack", ["xapp-"], "[0-9]-[A-Za-z0-9-]{10,}"),
  ...rows("slack", ["services", "workflows", "triggers"].map(slackHook), "[A-Za-z0-9/+_-]{20,}"),
  ...rows(
    "discord",
    ["discord\\.com", "discordapp\\.com"],
    "/api/webhooks/[0-9]{16,20}/([A-Za-z0-9_-]{30,})",
  ),
  // Begins with a number in base64, of which each three digits make four letters of few.
  ...rows(
    "discord",
    ["[MNO][DTjz][AEIMQUYcgk]"],
    "[A-Za-z0-9_-]{20,25}\\.[A-Za-z0-9_-]{6,7}\\.[A-Za-z0-9_-]{27,}",
    NOT_IN_BASE64,
  ),
  ...rows("telegram", [":AA"], "[A-Za-z0-9_-]{32,}", AFTER_DIGIT),
  ...rows("twilio", ["SK"], "[0-9a-f]{32,}", NOT_IN_BASE64),
  ...rows("sendgrid", ["SG\\."], "[A-Za-z0-9_-]{16,32}\\.[A-Za-z0-9_-]{16,}"),
  ...rows("mailgun", ["key-"], "[0-9a-f]{32,}"),
  ...rows("brevo", ["xkeysib-"], "[0-9a-f]{40,}", { rest: runOf(BASE64_URL) }),

  ...rows("stripe", ["sk_live_", "sk_test_", "rk_live_", "rk_test_"], "[A-Za-z0-9]{16,}"),
  ...rows("stripe", ["whsec_"], "[A-Za-z0-9+/=]{24,}"),
  ...rows("square", ["sq0atp-", "sq0csp-"], "[A-Za-z0-9_-]{20,}"),
  ...rows("shopify", ["shpat_", "shpca_", "shppa_", "shpss_"], "[A-Fa-f0-9]{30,}"),

  ...rows("anthropic", ["sk-ant-"], "[A-Za-z0-9_-]{16,}"),
  ...rows("openai", ["sk-proj-", "sk-svcacct-", "sk-admin-"], "[A-Za-z0-9_-]{16,}"),
  ...rows("openai", ["sk-"], "[A-Za-z0-9]{20,}", { ...DRAWN, rest: runOf(BASE64_URL) }),
  ...rows("openrouter", ["sk-or-v1-"], "[A-Za-z0-9]{16,}"),
  ...rows("langfuse", ["sk-lf-"], "[A-Za-z0-9-]{20,}"),
  ...rows("huggingface", ["hf_", "api_org_"], "[A-Za-z0-9]{30,}"),
  ...rows("groq", ["gsk_"], "[A-Za-z0-9]{40,}"),
  ...rows("xai", ["xai-"], "[A-Za-z0-9]{40,}"),
  ...rows("perplexity", ["pplx-"], "[A-Za-z0-9]{32,}"),
  ...rows("replicate", ["r8_"], "[A-Za-z0-9]{30,}"),
  ...rows("tavily", ["tvly-"], "[A-Za-z0-9-]{24,}", DRAWN),

  ...rows("google", ["AIza"], "[A-Za-z0-9_-]{30,}", NOT_IN_BASE64),
  ...rows("google", ["ya29\\."], "[A-Za-z0-9_-]{20,}", { inner: "." }),
  ...rows("google", ["GOCSPX-"], "[A-Za-z0-9_-]{20,}"),
  ...rows("google", ["1//0"], "[A-Za-z0-9_-]{28,}"),

  ...rows("aws", ["AKIA", "ASIA", "ABIA", "ACCA"], "[A-Z0-9]{16,}", NOT_IN_BASE64),
  ...rows("aws", ["AKIA", "ASIA"], "[A-Z0-9]{16}[\\s,;:|\"']{1,8}([A-Za-z0-9/+]{40,})", NOT_IN_BASE64),
  ...rows("aws", ["x-amz-signature="], "[a-f0-9]{40,}", { anyCase: true }),

  ...rows("azure", ["accountkey=", "sharedaccesskey="], "[A-Za-z0-9+/=]{20,}", { anyCase: true }),
  ...rows("azure", ["sig="], "[A-Za-z0-9%+/=_-]{24,}", { onlyAfter: characters("?&;\"'\\s") }),
  ...rows("azure", ["Q~"], "[A-Za-z0-9_~.-]{28,}", {
    ...AFTER_DIGIT,
    rest: runOf(characters("A-Za-z0-9_~-"), "."),
  }),

  ...rows("npm", ["npm_"], "[A-Za-z0-9]{36,}"),
  ...rows("pypi", ["pypi-Ag"], "[A-Za-z0-9_-]{40,}"),
  ...rows("rubygems", ["rubygems_"], "[a-f0-9]{40,}"),
  ...rows("docker", ["dckr_pat_", "dckr_oat_"], "[A-Za-z0-9_-]{20,}"),
  ...rows("digitalocean", ["dop_v1_", "doo_v1_", "dor_v1_"], "[a-f0-9]{40,}"),
  ...rows("databricks", ["dapi"], "[a-f0-9]{32,}", NOT_IN_BASE64),
  ...rows("supabase", ["sbp_"], "[a-f0-9]{40,}"),
  ...rows("supabase", ["sb_secret_"], "[A-Za-z0-9_-]{20,}"),
  ...rows("planetscale", ["pscale_tkn_", "pscale_pw_", "pscale_oauth_"], "[A-Za-z0-9_-]{20,}", {
    inner: ".",
  }),
  ...rows("grafana", ["glsa_", "glc_"], "[A-Za-z0-9+/=_]{30,}"),
  ...rows("newrelic", ["NRAK-"], "[A-Z0-9]{20,}"),
  ...rows("sentry", ["sntrys_", "sntryu_"], "[A-Za-z0-9+/=_-]{30,}"),
  ...rows("vault", ["hvs\\.", "hvb\\.", "hvr\\."], "[A-Za-z0-9_-]{24,}"),
  ...rows("doppler", ["dp\\."], "[a-z]{2,5}\\.[A-Za-z0-9]{32,}"),
  ...rows("pulumi", ["pul-"], "[a-f0-9]{32,}"),
  ...rows("fly", ["fm2_"], "[A-Za-z0-9+/=_-]{40,}"),
  ...rows("age", ["AGE-SECRET-KEY-1"], "[A-Z0-9]{40,}"),

  ...rows("sshpass", ["sshpass -p"], "[ '\"]{0,2}([^\\s'\"$]{4,})"),
  ...rows("jwt", ["eyJ"], "[A-Za-z0-9_-]{10,8192}\\.\\.?([A-Za-z0-9_-]{8,})", {
    inner: ".",
    notAfter: characters("A-Za-z0-9+/_-"),
  }),
];

function rows(
  name: string,
  beginnings: readonly string[],
  secret: string,
  options: Omit<PatternRow, "name" | "pattern"> = {},
): readonly PatternRow[] {
  return beginnings.map((beginning) => ({ name, pattern: beginning + secret, ...options }));
}

function slackHook(kind: string): string {
  return `hooks\\.slack\\.com/${kind}/`;
}
