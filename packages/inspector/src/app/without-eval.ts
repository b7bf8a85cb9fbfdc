import { config } from "zod";

// The page's content security policy refuses code made at run time; schemas must not even try. This has to come before
// any schema is made.
config({ jitless: true });
