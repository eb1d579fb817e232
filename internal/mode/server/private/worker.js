// The worker of private projects: it loads the loop, which takes what the page posts, and posts
// what comes of it.
'use strict';
const early = [];
self.onmessage = (e) => early.push(e.data);
const go = new Go();
WebAssembly.instantiateStreaming(fetch('/private/burin.wasm', { credentials: 'same-origin' }), go.importObject).then(
  ({ instance }) => {
    self.burinReady = (take) => {
      self.onmessage = (e) => take(JSON.stringify(e.data));
      for (const data of early) take(JSON.stringify(data));
      postMessage({ ready: true });
    };
    self.burinPost = (text) => postMessage(JSON.parse(text));
    return go.run(instance);
  },
).then(
  () => postMessage({ ended: 'the loop of this project has ended: open it again' }),
  (e) => postMessage({ ended: 'the loop of private projects can\'t start: ' + e.message }),
);
