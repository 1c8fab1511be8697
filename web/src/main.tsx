import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Refusal } from "./api/client";
import { codeIn, enter } from "./api/session";
import { router } from "./app/router";
import { startI18n } from "./i18n";
import { watchPrefix } from "./lib/keys";
import "./styles.css";

const queries = new QueryClient({
  defaultOptions: {
    // What the server refused it will refuse again; what it did not hear is worth another try.
    queries: { retry: (count, error) => !(error instanceof Refusal) && count < 3, staleTime: 2_000, refetchOnWindowFocus: true },
  },
});

watchPrefix();
// A link that is opened in a tab that shows this page already changes nothing but the fragment.
window.addEventListener("hashchange", () => {
  if (codeIn(location.hash) !== null) location.reload();
});
const place = document.getElementById("root");
if (place) {
  void Promise.all([startI18n(), enter()]).then(() => {
    createRoot(place).render(
      <StrictMode>
        <QueryClientProvider client={queries}>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </StrictMode>,
    );
  });
}
