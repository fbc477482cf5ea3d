"use strict";

// Shows the schema. Requests that are tried on the page go out with the operator's session, so those that change
// something need the form token, which stands in a cookie.
(() => {
  const place = document.getElementById("document");

  const readToken = () => {
    const found = document.cookie.split("; ").find((part) => part.startsWith("csrftoken="));
    return found ? found.slice("csrftoken=".length) : "";
  };

  const addToken = (request) => {
    const isOurs = new URL(request.url, document.baseURI).origin === window.location.origin;
    if (isOurs && request.method && request.method.toUpperCase() !== "GET") {
      request.headers["X-CSRFToken"] = readToken();
    }
    return request;
  };

  window.SwaggerUIBundle({
    url: place.dataset.schema,
    domNode: place,
    presets: [window.SwaggerUIBundle.presets.apis],
    layout: "BaseLayout",
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    validatorUrl: null,
    requestInterceptor: addToken,
  });
})();
