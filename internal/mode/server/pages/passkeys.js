// The passkeys of the pages. All else works without a script.
'use strict';
(() => {
  const all = (what) => document.querySelectorAll(`[data-passkey="${what}"]`);
  const text = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  const bytes = (text) => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));

  // ask sends a request, and gives what the server answers.
  const ask = async (path, body) => {
    const answer = await fetch(path, {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body)});
    const data = await answer.json();
    if (!answer.ok) throw new Error(data.detail);
    return data;
  };

  // said is what a person is told of an error; '' is nothing.
  const said = (e) => {
    const german = document.documentElement.lang === 'de';
    const known = german ? {
      AbortError: '',
      NotAllowedError: 'es wurde abgebrochen oder hat zu lange gedauert: Versuche es noch einmal',
      InvalidStateError: 'dieses Gerät hat schon einen Passkey für dein Konto',
      NotSupportedError: 'dieses Gerät hat keine Passkeys, die prüfen, wer es benutzt',
      SecurityError: 'für diese Adresse hat der Browser keine Passkeys',
      TypeError: 'der Server ist nicht erreichbar: Versuche es noch einmal',
    } : {
      AbortError: '',
      NotAllowedError: 'it was canceled, or took too long: try again',
      InvalidStateError: 'this device has a passkey for your account already',
      NotSupportedError: 'this device has no passkeys that verify who uses it',
      SecurityError: 'the browser has no passkeys for this address',
      TypeError: 'the server can\'t be reached: try again',
    };
    return e.name in known ? known[e.name] : e.message.replace(/^\w+: /, '');
  };

  // trying runs what a form does, and shows what goes wrong there.
  const trying = async (form, run) => {
    const wrong = form.querySelector('.wrong'), button = form.querySelector('button');
    wrong.hidden = button.disabled = true;
    try {
      await run();
    } catch (e) {
      const what = said(e);
      wrong.textContent = what && what[0].toUpperCase() + what.slice(1) + '.';
      wrong.hidden = !what;
    } finally {
      button.disabled = false;
    }
  };

  const add = async (form) => {
    const options = await ask('/v1/me/passkeys/begin', {password: form.elements['passkey-password']?.value});
    options.challenge = bytes(options.challenge);
    options.user.id = bytes(options.user.id);
    for (const had of options.excludeCredentials) had.id = bytes(had.id);
    const made = await navigator.credentials.create({publicKey: options});
    await ask('/v1/me/passkeys', {name: form.elements['passkey-name'].value, credential: {
      id: text(made.rawId),
      response: {clientDataJSON: text(made.response.clientDataJSON), attestationObject: text(made.response.attestationObject)},
    }});
    location.assign('/account?done=passkey');
  };

  let waiting; // ends the request that the browser has
  const choose = async (mediation) => {
    waiting?.abort();
    const {signal} = waiting = new AbortController();
    const options = await ask('/v1/signin/passkey/begin', {});
    options.challenge = bytes(options.challenge);
    return navigator.credentials.get({publicKey: options, signal, ...mediation});
  };
  const signIn = async (got) => {
    await ask('/v1/signin/passkey', {credential: {
      id: text(got.rawId),
      response: {
        clientDataJSON: text(got.response.clientDataJSON), authenticatorData: text(got.response.authenticatorData),
        signature: text(got.response.signature), userHandle: text(got.response.userHandle ?? []),
      },
    }});
    location.assign('/');
  };

  // offer has the browser offer passkeys in the field for the name. Who hasn't chosen one isn't
  // told what goes wrong.
  let renewing, turn = 0;
  const offer = async (form) => {
    clearTimeout(renewing);
    const mine = ++turn;
    if (!await PublicKeyCredential.isConditionalMediationAvailable?.() || mine !== turn) return;
    renewing = setTimeout(() => offer(form), 8 * 60_000); // before the challenge expires
    const got = await choose({mediation: 'conditional'}).catch(() => null);
    if (got) await trying(form, () => signIn(got));
  };

  if (!window.PublicKeyCredential) return;
  for (const e of all('without')) e.hidden = true;
  for (const e of all('with')) e.hidden = false;
  for (const form of all('add')) {
    form.addEventListener('submit', (e) => {
      e.preventDefault();
      trying(form, () => add(form));
    });
  }
  for (const form of all('signin')) {
    form.hidden = false;
    form.addEventListener('submit', (e) => {
      e.preventDefault();
      clearTimeout(renewing);
      turn++;
      trying(form, async () => signIn(await choose()));
    });
    offer(form);
  }
})();
