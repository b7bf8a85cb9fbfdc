import { accessOperations, type Self, selfOperations } from "@reins/api";
import { ApiError } from "@reins/sdk";
import { useMutation, useQuery } from "@tanstack/react-query";
import { createContext, type ReactNode, use } from "react";
import type { z } from "zod";
import { call } from "../api/queries.ts";
import { Button } from "../design/button.tsx";
import { Code } from "../design/code.tsx";
import { Failure, Waiting } from "../design/states.tsx";

const SelfContext = createContext<Self | undefined>(undefined);

/** The signed-in user. */
export function useSelf(): Self {
  const self = use(SelfContext);
  if (!self) throw new Error("useSelf is available after sign-in only");
  return self;
}

/**
 * Signs the browser in by its cookie, by a code in the address or by what an OpenID issuer sent it back with; shows how
 * to sign in otherwise.
 */
export function SignIn({ children }: { children: ReactNode }) {
  const { data, error, refetch } = useQuery({ queryKey: ["self"], queryFn: enter, staleTime: Infinity });
  if (data) return <SelfContext value={data}>{children}</SelfContext>;
  if (error instanceof ApiError && error.status === 401) return <SignInHelp />;
  return (
    <main className="mx-auto max-w-lg p-8">
      {error ? <Failure error={error} onRetry={() => void refetch()} /> : <Waiting what="Signing in" />}
    </main>
  );
}

async function enter(): Promise<Self> {
  const code = takeCode();
  if (code !== undefined) await call(accessOperations.login, { body: { code } }).catch(ignoreUsed);
  const answer = takeAnswer();
  if (answer) await call(accessOperations.finishOidcLogin, { body: answer }).catch(ignoreUsed);
  return call(selfOperations.getSelf);
}

/** A used code, for instance after a reload, matters only without a cookie; the next request reports that. */
function ignoreUsed(error: unknown): void {
  if (!(error instanceof ApiError && error.status === 401)) throw error;
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

/** What an issuer sent a browser back with, in the query of an address. */
export function answerIn(search: string): OidcAnswer | undefined {
  const { code, state, iss } = Object.fromEntries(new URLSearchParams(search));
  if (code === undefined || state === undefined) return undefined;
  return { code, state, ...(iss !== undefined && { iss }) };
}

type OidcAnswer = z.input<typeof accessOperations.finishOidcLogin.body>;

/** Takes the answer of an issuer from the address and removes it there. */
function takeAnswer(): OidcAnswer | undefined {
  const answer = answerIn(window.location.search);
  if (answer) window.history.replaceState(window.history.state, "", window.location.pathname);
  return answer;
}

/** Leaves the page for the login of an issuer. */
async function signInWith(issuer: string): Promise<void> {
  const { url } = await call(accessOperations.beginOidcLogin, { body: { issuer } });
  window.location.assign(url);
}

function Issuers() {
  const { data } = useQuery({
    queryKey: ["login-methods"],
    queryFn: () => call(accessOperations.getLoginMethods),
    staleTime: Infinity,
  });
  const { mutate, error } = useMutation({ mutationFn: signInWith });
  if (!data || data.oidc.length === 0) return null;
  return (
    <div className="flex flex-col items-start gap-2">
      {data.oidc.map((issuer) => (
        <Button key={issuer} kind="primary" onClick={() => mutate(issuer)}>
          Sign in with {issuer}
        </Button>
      ))}
      {error ? <Failure error={error} /> : null}
    </div>
  );
}

function SignInHelp() {
  return (
    <main className="mx-auto flex max-w-lg flex-col gap-3 p-8">
      <h1 className="text-lg font-semibold">This browser is not signed in</h1>
      <Issuers />
      <p>
        The address that <code>reins up</code> prints signs one browser in. Run this in a terminal on the
        machine that runs Reins, and open the new address here:
      </p>
      <Code text="reins open" />
    </main>
  );
}
