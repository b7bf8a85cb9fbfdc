import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { shouldRetry } from "../api/queries.ts";
import { startTheme } from "../design/theme.ts";
import { router } from "./router.tsx";
import { SignIn } from "./sign-in.tsx";

export function mountPage(): void {
  startTheme();
  const root = document.getElementById("root");
  if (!root) throw new Error("index.html has no #root");
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: shouldRetry,
    },
  },
});

function App() {
  return (
    <QueryClientProvider client={queries}>
      <SignIn>
        <RouterProvider router={router} />
      </SignIn>
    </QueryClientProvider>
  );
}
