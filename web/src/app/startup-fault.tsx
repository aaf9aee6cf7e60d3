/** The one thing shown when the app cannot start: what is missing, for whoever runs this installation. */
export function StartupFault({ message }: { message: string }) {
  return (
    <main className="page-gutter mx-auto flex min-h-dvh max-w-xl flex-col justify-center">
      <div className="card-box" role="alert">
        <h1 className="text-section">This site could not start</h1>
        <p className="mt-2">{message}</p>
        <p className="mt-2 text-muted-foreground">
          The operator of this installation has to set it in /config.js.
        </p>
      </div>
    </main>
  )
}
