import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { ProblemError } from "../api/problem.ts";
import { Entrance } from "./entrance.tsx";
import { router } from "./router.tsx";

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // What the server refuses it will refuse again; what did not arrive may yet.
      retry: (failures, error) => failures < 3 && !(error instanceof ProblemError && error.status < 500),
    },
  },
});

/** The page, for whoever the server knows. */
export function App() {
  return (
    <QueryClientProvider client={queries}>
      <Entrance>
        <RouterProvider router={router} />
      </Entrance>
    </QueryClientProvider>
  );
}
