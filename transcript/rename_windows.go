package transcript

// renamesOpen is false: Windows doesn't rename a file that is open without permission to
// delete it, which Go doesn't request.
const renamesOpen = false
