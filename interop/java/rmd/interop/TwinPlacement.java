package rmd.interop;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.Groups;
import org.apache.hadoop.security.NullGroupsMapping;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.placement.ApplicationPlacementContext;
import org.apache.hadoop.yarn.server.resourcemanager.placement.CSMappingPlacementRule;
import org.apache.hadoop.yarn.server.resourcemanager.placement.csmappingrule.MappingRule;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacitySchedulerConfiguration;
import org.apache.hadoop.yarn.util.Records;
import org.apache.hadoop.yarn.util.resource.ResourceUtils;
import org.apache.log4j.Level;
import org.apache.log4j.LogManager;

/**
 * TwinPlacement reads placement rules and places submissions with Hadoop's CSMappingPlacementRule.
 * Each line of standard input is a question in the syntax of twin/placement.go. Each answer is one
 * line of standard output.
 */
final class TwinPlacement {
  private TwinContext context;
  private Groups groups;
  /** now has the groups of the submitting user. */
  private Set<String> now;
  private CSMappingPlacementRule rules;

  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintWriter out = new PrintWriter(new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8), 1 << 16));
    System.setOut(System.err);
    LogManager.getLoggerRepository().setThreshold(Level.OFF);
    TwinPlacement twin = new TwinPlacement();
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] words = line.split(" ", -1);
      for (int i = 1; i < words.length; i++) {
        words[i] = new String(Base64.getDecoder().decode(words[i]), StandardCharsets.UTF_8);
      }
      out.println(twin.answer(words).replace('\n', ' '));
      if (!in.ready()) {
        out.flush();
      }
    }
    out.flush();
    System.exit(0);
  }

  private String answer(String[] w) throws Exception {
    switch (w[0]) {
      case "tree":
        return start(w);
      case "legacy":
        configuration().setMappingRuleFormat("legacy");
        configuration().set("yarn.scheduler.capacity.queue-mappings", w[1]);
        configuration().set("yarn.scheduler.queue-placement-rules.app-name", w[2]);
        return converted(true);
      case "json":
        configuration().setMappingRuleFormat("json");
        configuration().setMappingRuleJson(w[1]);
        return converted(false);
      case "use":
        configuration().setOverrideWithQueueMappings(w[1].equals("true"));
        return use();
      default:
        return place(w);
    }
  }

  private CapacitySchedulerConfiguration configuration() {
    return context.scheduler.getConfiguration();
  }

  private String start(String[] w) throws Exception {
    if (context != null) {
      context.scheduler.stop();
    }
    Configuration conf = new Configuration(false);
    conf.set("hadoop.security.group.mapping", NullGroupsMapping.class.getName());
    for (int i = 1; i < w.length; i += 2) {
      conf.set(w[i], w[i + 1]);
    }
    ResourceUtils.resetResourceTypes(conf);
    QueueMetrics.clearQueueMetrics();
    context = new TwinContext(conf);
    groups = new Groups(conf) {
      @Override
      public Set<String> getGroupsSet(String user) throws IOException {
        if (now.isEmpty()) {
          throw new IOException("No groups found for user " + user);
        }
        return now;
      }
    };
    return "ok";
  }

  /**
   * converted returns the rules as Hadoop reads them, or that they are illegal, with the message if
   * it is Hadoop's own.
   */
  private String converted(boolean message) {
    try {
      return configuration().getMappingRules().stream().map(TwinPlacement::text).collect(Collectors.joining("; "));
    } catch (Exception e) {
      return message ? "illegal: " + e.getMessage() : "illegal";
    }
  }

  private static String text(MappingRule rule) {
    return rule + " " + rule.getFallback();
  }

  /**
   * use returns whether Hadoop accepts the rules. It uses them in any case, like a scheduler that
   * has read them before.
   */
  private String use() throws IOException {
    String answer = "ok";
    try {
      rules(true);
    } catch (IOException e) {
      answer = "unusable: " + e.getMessage();
    } catch (IndexOutOfBoundsException e) {
      answer = "unusable: ";
    }
    rules = rules(false);
    return answer;
  }

  private CSMappingPlacementRule rules(boolean fail) throws IOException {
    CSMappingPlacementRule r = new CSMappingPlacementRule();
    r.setGroups(groups);
    r.setFailOnConfigError(fail);
    try {
      r.initialize((CapacityScheduler) context.scheduler);
    } catch (IndexOutOfBoundsException e) {
      if (fail) {
        throw e;
      }
    }
    return r;
  }

  private String place(String[] w) {
    ApplicationSubmissionContext submission = Records.newRecord(ApplicationSubmissionContext.class);
    submission.setApplicationName(w[2]);
    submission.setQueue(w[3]);
    now = new LinkedHashSet<>(Arrays.asList(w).subList(4, w.length));
    try {
      ApplicationPlacementContext placed = rules.getPlacementForApp(submission, w[1]);
      return placed == null ? "none" : placed.getFullQueuePath();
    } catch (YarnException e) {
      return "rejected";
    }
  }
}
