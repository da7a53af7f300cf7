# PowerShell completion for rmd: dot-source it from $PROFILE
Register-ArgumentCompleter -Native -CommandName rmd -ScriptBlock {
  param($word, $ast, $position)
  $words = @($ast.CommandElements | Select-Object -Skip 1 | ForEach-Object { "$_" })
  if ($word -eq "") { $words += "" }
  rmd __complete @words 2>$null | Where-Object { $_ -ne ":files" } | ForEach-Object {
    $found, $about = $_ -split "`t", 2
    if (-not $about) { $about = $found }
    [System.Management.Automation.CompletionResult]::new($found, $found, "ParameterValue", $about)
  }
}
