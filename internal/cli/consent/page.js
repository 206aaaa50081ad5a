"use strict";
(() => {
  const main = document.querySelector("main");
  const { project, key, app } = main.dataset;
  const byId = (id) => document.getElementById(id);
  const authorization = new URLSearchParams(location.search).get("authorization_id") ?? "";

  // The person's session: here and nowhere else. Leaving the page ends it.
  let session = "";
  let busy = false;
  let answered = false;

  // ---- what is shown ----

  const show = (id, title) => {
    for (const section of document.querySelectorAll("section")) {
      section.hidden = section.id !== id;
    }
    byId("title").textContent = document.title = title;
    byId("title").focus();
  };

  const showSignIn = () => {
    show("sign-in", "Sign in to " + app);
    byId("email").focus();
  };

  // What went wrong, what to do about it, and what its makers may have to mend.
  const problems = {
    no_request: ["There is no question here", "This page is opened by AI apps that want to use " + app + " as you.", "Start in your AI app: add " + app + " there, and it brings you here."],
    framed: ["This page must stand alone", "It was opened inside another page, which could make you press something you do not see.", "Start again from your AI app."],
    already_used: ["This request was already used", "Each request can be opened and answered once. A second look, such as a reload after the answer, finds nothing.", "Start again from your AI app. If it says that it is connected, there is nothing left to do."],
    not_found: ["This request cannot be answered any more", "It was answered already, is older than ten minutes, or was opened by another account.", "Start again from your AI app."],
    signed_out: ["You are signed out here", "Nothing was allowed. This request now belongs to the account that opened it.", "Start again from your AI app, and sign in as somebody else."],
    delegated_token: ["An AI app cannot answer", "This sign-in belongs to an AI app, and only you yourself may allow one.", "Start again from your AI app, and sign in here."],
    bad_address: ["This answer would lead somewhere unsafe", "The address that the AI app gave is none that a browser should open.", "Nothing more happens. Tell the makers of the AI app."],
    too_many: ["Too many tries", "Too many requests came in a short time.", "Wait a minute, then try again.", "", true],
    unavailable: ["No answer", "The sign-in of " + app + " cannot be reached, or does not answer as it should.", "Check your connection, then try again.",
      "Is the function chumbo-consent deployed, with verify_jwt = false, and is its secret CONSENT_ORIGIN exactly " + location.origin + "?", true],
    broken: ["Something went wrong on this page", "Nothing more has been sent.", "Reload the page, or start again from your AI app."],
  };

  const fail = (code, again) => {
    const [title, text, next, hint, mayRetry] = problems[code] ?? problems.unavailable;
    byId("problem-text").textContent = text;
    byId("problem-next").textContent = next;
    byId("problem-next").hidden = false;
    byId("problem-hint").textContent = hint ?? "";
    byId("problem-makers").hidden = !hint;
    byId("again").hidden = !(mayRetry && again);
    byId("again").onclick = again ?? null;
    show("problem", title);
  };

  const say = (id, text, field) => {
    const place = byId(id);
    place.textContent = text;
    place.hidden = text === "";
    for (const input of place.parentElement.querySelectorAll("input")) {
      input.setAttribute("aria-invalid", String(input === field));
      input.setAttribute("aria-describedby", id);
    }
    field?.focus();
  };

  // plain shows what others wrote: in one line, and nothing that turns text round.
  const plain = (text, longest) => {
    const clean = String(text ?? "").replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}]/gu, "").trim();
    return [...clean].length > longest ? [...clean].slice(0, longest).join("") + "…" : clean;
  };

  // Letters of other scripts can look like those of a name one trusts.
  const ascii = (text) => [...text].map((c) => c > " " && c < "\x7f" ? c : "\\u{" + c.codePointAt(0).toString(16) + "}").join("");

  // address reads where the answer goes; null for what no browser should open.
  const address = (text) => {
    try {
      const url = new URL(text);
      return /^(javascript|data|vbscript|blob|file|about|filesystem|view-source):$/.test(url.protocol) ? null : url;
    } catch {
      return null;
    }
  };

  const goesTo = (url) => {
    if (url.protocol === "https:") {
      return ascii(url.host);
    }
    if (url.protocol === "http:") {
      return /^(localhost|127\..*|\[::1\])$/.test(url.hostname) ? "a program on this computer (" + ascii(url.host) + ")" : ascii(url.host);
    }
    return "an app on this device that opens " + ascii(url.protocol) + " links" + (url.host ? " (" + ascii(url.host) + ")" : "");
  };

  const scopeWords = {
    openid: "Know that it is you, by an id",
    email: "See your email address",
    profile: "See your name and picture",
    phone: "See your phone number",
    offline_access: "Stay connected while you are away",
  };

  // ---- what is asked ----

  // once lets one thing happen at a time, and shows which.
  const once = async (button, work) => {
    if (busy) {
      return;
    }
    busy = true;
    button?.setAttribute("aria-disabled", "true");
    try {
      await work();
    } catch {
      fail("broken");
    } finally {
      busy = false;
      button?.removeAttribute("aria-disabled");
    }
  };

  // post sends JSON to the project. No answer at all is status 0.
  const post = async (path, body, token) => {
    const headers = { "content-type": "application/json", apikey: key };
    if (token) {
      headers.authorization = "Bearer " + token;
    }
    try {
      const response = await fetch(project + path, {
        method: "POST", headers, body: JSON.stringify(body), cache: "no-store", credentials: "omit", redirect: "error", signal: AbortSignal.timeout(20000),
      });
      const text = await response.text();
      let read = {};
      try {
        read = JSON.parse(text) ?? {};
      } catch { /* a page of something in between */ }
      return { status: response.status, body: read };
    } catch {
      return { status: 0, body: {} };
    }
  };

  const signInWords = {
    invalid_credentials: "That email and password do not belong together. Try again, or have a code mailed.",
    email_not_confirmed: "This address is not confirmed yet. Open the mail that " + app + " sent you when you signed up, then try again.",
    user_banned: "This account is blocked. Ask the makers of " + app + ".",
    captcha_failed: app + " asks for a captcha, which this page does not have. Ask the makers of " + app + ".",
    email_provider_disabled: "This way of signing in is switched off in " + app + ". Try the other one.",
    otp_expired: "That code is wrong, was used, or has expired. Type it again, or have another one mailed.",
    over_request_rate_limit: "Too many tries. Wait a minute, then try again.",
    over_email_send_rate_limit: "A mail was sent a moment ago. Wait a minute, then ask again.",
  };

  const refusedSignIn = ({ status, body }) => {
    const code = body.error_code ?? (typeof body.code === "string" ? body.code : "");
    return signInWords[code] ??
      (status === 429 ? signInWords.over_request_rate_limit : status === 0 || status >= 500
        ? "The sign-in of " + app + " cannot be reached. Check your connection, then try again."
        : "This did not work. Try again, or try another way of signing in.");
  };

  const signedIn = async (answer) => {
    session = answer.body.access_token;
    byId("password").value = byId("otp").value = "";
    await ask();
  };

  byId("password-form").onsubmit = (event) => {
    event.preventDefault();
    const email = byId("email"), password = byId("password");
    once(event.submitter, async () => {
      say("sign-in-error", "");
      if (!email.value.trim() || !email.checkValidity()) {
        return say("sign-in-error", "Type the email address of your account.", email);
      }
      if (!password.value) {
        return say("sign-in-error", "Type your password, or have a code mailed.", password);
      }
      const answer = await post("/auth/v1/token?grant_type=password", { email: email.value.trim(), password: password.value });
      if (answer.status === 200 && answer.body.access_token) {
        return signedIn(answer);
      }
      say("sign-in-error", refusedSignIn(answer), password);
    });
  };

  byId("mail-code").onclick = (event) => once(event.currentTarget, async () => {
    const email = byId("email");
    say("sign-in-error", "");
    if (!email.value.trim() || !email.checkValidity()) {
      return say("sign-in-error", "Type your email address first: the code goes there.", email);
    }
    const answer = await post("/auth/v1/otp", { email: email.value.trim(), create_user: false });
    // An address without an account looks the same, so that nobody learns of one.
    if (answer.status !== 200 && answer.body.error_code !== "otp_disabled") {
      return say("sign-in-error", refusedSignIn(answer), email);
    }
    byId("code-email").textContent = email.value.trim();
    say("code-error", "");
    show("code", "Enter the code");
    byId("otp").focus();
  });

  byId("code-form").onsubmit = (event) => {
    event.preventDefault();
    const otp = byId("otp");
    once(event.submitter, async () => {
      say("code-error", "");
      const token = otp.value.replace(/\s/g, "");
      if (!token) {
        return say("code-error", "Type the code of the newest mail.", otp);
      }
      const answer = await post("/auth/v1/verify", { type: "email", email: byId("email").value.trim(), token });
      if (answer.status === 200 && answer.body.access_token) {
        return signedIn(answer);
      }
      say("code-error", refusedSignIn(answer), otp);
    });
  };

  byId("code-back").onclick = () => {
    byId("otp").value = "";
    showSignIn();
  };

  // ask reads the request. It is read once: reading it a second time may find
  // that the first reading has used it.
  const ask = async () => {
    const answer = await post("/functions/v1/chumbo-consent", { authorization_id: authorization }, session);
    if (answer.status === 200 && answer.body.redirect_url) {
      return leave("You allowed this before", answer.body.redirect_url);
    }
    if (answer.status === 200 && answer.body.redirect_uri) {
      return question(answer.body);
    }
    refused(answer, ask);
  };

  const question = (asked) => {
    const to = address(asked.redirect_uri);
    if (to === null) {
      return fail("bad_address");
    }
    const client = plain(asked.client, 80) || "an AI app without a name";
    byId("client").textContent = client;
    byId("host").textContent = goesTo(to);
    byId("address").textContent = ascii(asked.redirect_uri);
    byId("user").textContent = plain(asked.user, 254) || "yourself, by an account without an email address";
    byId("scopes").replaceChildren(...asked.scope.split(/\s+/).filter(Boolean).map((scope) => {
      const item = document.createElement("li");
      item.textContent = Object.hasOwn(scopeWords, scope) ? scopeWords[scope] : plain(scope, 80);
      return item;
    }));
    show("question", "Allow " + client + " to use " + app + "?");
  };

  const decide = async (action, done) => {
    const answer = await post("/functions/v1/chumbo-consent", { authorization_id: authorization, action }, session);
    if (answer.status === 200 && answer.body.redirect_url) {
      return leave(done, answer.body.redirect_url);
    }
    refused(answer, () => decide(action, done));
  };

  byId("allow").onclick = (event) => once(event.currentTarget, () => decide("approve", "Allowed"));
  byId("deny").onclick = (event) => once(event.currentTarget, () => decide("deny", "Denied"));

  const refused = ({ body }, again) => {
    if (body.code === "sign_in") {
      session = "";
      showSignIn();
      say("sign-in-error", "Your sign-in has ended. Sign in again.", byId("email"));
      return;
    }
    fail(Object.hasOwn(problems, body.code) ? body.code : "unavailable", () => once(byId("again"), again));
  };

  // The request belongs to who opened it first, so another account cannot go on.
  byId("not-you").onclick = (event) => once(event.currentTarget, async () => {
    await signOut();
    fail("signed_out");
  });

  // signOut ends this page's session alone. What was allowed stays.
  const signOut = async () => {
    const ended = session;
    session = "";
    if (ended) {
      await Promise.race([post("/auth/v1/logout?scope=local", {}, ended), new Promise((done) => setTimeout(done, 1500))]);
    }
  };

  const leave = async (title, redirect) => {
    const to = address(redirect);
    if (to === null) {
      return fail("bad_address");
    }
    answered = true;
    byId("leaving-host").textContent = goesTo(to);
    byId("leave").href = redirect;
    show("leaving", title);
    await signOut();
    location.replace(redirect);
  };

  // A page that the browser kept and brings back has nothing left to ask.
  addEventListener("pagehide", () => {
    session = "";
  });
  addEventListener("pageshow", (event) => {
    if (event.persisted && answered) {
      fail("already_used");
    } else if (event.persisted) {
      location.reload();
    }
  });
  addEventListener("error", () => fail("broken"));
  addEventListener("unhandledrejection", () => fail("broken"));

  if (self !== top) {
    fail("framed");
  } else if (!authorization) {
    fail("no_request");
  } else {
    showSignIn();
  }
})();
