/** For `node --import`: the process crashes at SIGUSR2, as by a fault that nobody has thought of. */
process.on('SIGUSR2', () => {
  setImmediate(() => {
    throw new Error('crashed on purpose');
  });
});
