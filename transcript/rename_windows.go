package transcript

// renamesOpen is false: Windows gives no other name to a file that is open without
// permission to delete it, which Go does not ask for.
const renamesOpen = false
