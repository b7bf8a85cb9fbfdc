import { accessOperations, type Self, selfOperations } from "@reins/api";
import { useQuery } from "@tanstack/react-query";
import { createContext, type ReactNode, use } from "react";
import { call, ProblemError } from "../api/call.ts";
import { Code } from "../design/code.tsx";
import { Failure, Waiting } from "../design/states.tsx";

const SelfContext = createContext<Self | undefined>(undefined);

/** The signed-in user. */
export function useSelf(): Self {
  const self = use(SelfContext);
  if (!self) throw new Error("useSelf is available after sign-in only");
  return self;
}

/** Signs the browser in by its cookie or by a code in the address; shows how to get a code otherwise. */
export function SignIn({ children }: { children: ReactNode }) {
  const { data, error, refetch } = useQuery({ queryKey: ["self"], queryFn: enter, staleTime: Infinity });
  if (data) return <SelfContext value={data}>{children}</SelfContext>;
  if (error instanceof ProblemError && error.status === 401) return <SignInHelp />;
  return (
    <main className="mx-auto max-w-lg p-8">
      {error ? <Failure error={error} onRetry={() => void refetch()} /> : <Waiting what="Signing in" />}
    </main>
  );
}

async function enter(): Promise<Self> {
  const code = takeCode();
  if (code !== undefined) await call(accessOperations.login, { body: { code } }).catch(ignoreUsed);
  return call(selfOperations.getSelf);
}

/** A used code, for instance after a reload, matters only without a cookie; the next request reports that. */
function ignoreUsed(error: unknown): void {
  if (!(error instanceof ProblemError && error.status === 401)) throw error;
}

/** Fragments that name a part of the page are shorter. */
const CODE = /^[\w-]{16,256}$/;

/** The sign-in code in the fragment of an address. */
export function codeIn(hash: string): string | undefined {
  const code = hash.slice(1);
  return CODE.test(code) ? code : undefined;
}

/** Takes the code from the address and removes it there. */
function takeCode(): string | undefined {
  const code = codeIn(window.location.hash);
  if (code === undefined) return undefined;
  window.history.replaceState(window.history.state, "", window.location.pathname + window.location.search);
  return code;
}

function SignInHelp() {
  return (
    <main className="mx-auto flex max-w-lg flex-col gap-3 p-8">
      <h1 className="text-lg font-semibold">This browser is not signed in</h1>
      <p>
        The address that <code>reins up</code> prints signs one browser in. Run this in a terminal on the
        machine that runs Reins, and open the new address here:
      </p>
      <Code text="reins open" />
    </main>
  );
}
